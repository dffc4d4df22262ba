// libFuzzer target: any bytes are refused with an Error or read as a PNG picture, its check sums put right
// (tests/fuzz/oracles.h).
#include "larmor/formats/pictures/png.h"

#include "tests/fuzz/oracles.h"
#include "tests/support/image_files.h"
#include "tests/support/picture_files.h"

namespace {

larmor::fuzz::Product read(std::string_view bytes) {
  const std::string right = larmor::testing::with_check_sums(std::string(bytes));
  return larmor::fuzz::Product().add(larmor::parse_png(larmor::testing::as_bytes(right)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  return larmor::fuzz::hold(data, size, read);
}
