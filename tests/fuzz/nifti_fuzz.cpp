// libFuzzer target: any bytes are refused with an Error or read as a volume by their content, packed or
// plain: NIfTI first, because the seeds are NIfTI files (tests/fuzz/oracles.h).
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
