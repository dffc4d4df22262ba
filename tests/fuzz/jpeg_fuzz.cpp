// libFuzzer target: any bytes are refused with an Error or read as a JPEG picture, in colours and in grey
// (tests/fuzz/oracles.h).
#include "larmor/formats/pictures/jpeg.h"

#include "tests/fuzz/oracles.h"

namespace {

larmor::fuzz::Product read(std::string_view bytes) {
  const auto picture = std::as_bytes(std::span(bytes));
  return larmor::fuzz::Product()
      .add(larmor::parse_jpeg(picture))
      .add(larmor::parse_jpeg(picture, /*grey=*/true));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  return larmor::fuzz::hold(data, size, read);
}
