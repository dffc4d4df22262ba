// libFuzzer target: any bytes are refused with an Error or read as a DICOM file with its pixels; nothing else
// may happen.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/formats/dicom.h"

/// Compressed pixels are decoded here, where the fuzzer sees branches taken and memory misused.
extern "C" int LLVMFuzzerInitialize(int*, char***) { return setenv("LARMOR_DECODER", "none", 1); }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  larmor::Bytes bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  try {
    larmor::parse_dicom_volume(std::move(bytes));
  } catch (const larmor::Error&) {
  }
  return 0;
}
