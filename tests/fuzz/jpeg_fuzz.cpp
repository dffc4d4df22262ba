// libFuzzer target: any bytes are refused with an Error or read as a JPEG picture, whole and reduced; nothing
// else may happen.
#include <cstddef>
#include <cstdint>
#include <span>

#include "larmor/base/error.h"
#include "larmor/formats/jpeg.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    larmor::parse_jpeg(bytes);
    larmor::parse_jpeg(bytes, /*grey=*/true);
  } catch (const larmor::Error&) {
  }
  return 0;
}
