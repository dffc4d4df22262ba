// libFuzzer target: any bytes are refused with an Error or read as gzip data; nothing else may happen.
#include <cstddef>
#include <cstdint>
#include <span>

#include "larmor/base/error.h"
#include "larmor/formats/gzip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  larmor::InflateLimits limits;
  limits.ratio_free = std::size_t{16} << 20;  // memory that a fuzzer can spare
  limits.ratio = 1;
  try {
    larmor::gunzip(bytes, limits);
  } catch (const larmor::Error&) {
  }
  return 0;
}
