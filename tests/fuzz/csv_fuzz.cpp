// libFuzzer target: any bytes are refused with an Error or read as a table; nothing else may happen.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "larmor/base/error.h"
#include "larmor/formats/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view words(reinterpret_cast<const char*>(data), size);
  try {
    larmor::parse_csv(words, "fuzz");
  } catch (const larmor::Error&) {
  }
  return 0;
}
