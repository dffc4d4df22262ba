// libFuzzer target: any bytes behind the first ones of an NRRD or a MetaImage file are refused with an Error
// or read as a volume (tests/fuzz/oracles.h). The seeds say which of the two it is.
#include "larmor/formats/volume.h"

#include "tests/fuzz/oracles.h"

namespace {

larmor::fuzz::Product read(std::string_view bytes) {
  return larmor::fuzz::Product().add(larmor::read_volume(larmor::fuzz::file_of(bytes)).voxels);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  return larmor::fuzz::hold(data, size, read);
}
