// libFuzzer target: any bytes are refused with an Error or read as a DICOM file with its pixels
// (tests/fuzz/oracles.h).
#include "larmor/base/error.h"
#include "larmor/formats/dicom/dicom.h"

#include "tests/fuzz/oracles.h"

namespace {

larmor::fuzz::Product read(std::string_view bytes) {
  const auto volume = larmor::parse_dicom_volume(larmor::fuzz::copied(bytes));
  if (!volume.fault.empty()) larmor::fail(larmor::Exit::data, volume.fault, volume.hint);
  return larmor::fuzz::Product().add(volume.array);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  return larmor::fuzz::hold(data, size, read);
}
