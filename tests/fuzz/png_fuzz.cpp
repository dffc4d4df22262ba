// libFuzzer target: any bytes are refused with an Error or read as a PNG picture, its check sums put right;
// nothing else may happen.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "larmor/base/error.h"
#include "larmor/formats/png.h"

#include "tests/support/image_files.h"
#include "tests/support/picture_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  try {
    larmor::parse_png(larmor::testing::as_bytes(larmor::testing::with_check_sums(bytes)));
  } catch (const larmor::Error&) {
  }
  return 0;
}
