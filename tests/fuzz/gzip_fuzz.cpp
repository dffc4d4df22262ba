// libFuzzer target: any bytes are refused with an Error or read as gzip data (tests/fuzz/oracles.h). A cut
// file may end behind one of its members: that is whole, and less.
#include "larmor/base/error.h"
#include "larmor/formats/gzip.h"

#include "tests/fuzz/oracles.h"

namespace {

larmor::fuzz::Product read(std::string_view bytes) {
  larmor::InflateLimits limits;
  limits.ratio_free = std::size_t{16} << 20;  // memory that a fuzzer can spare
  limits.ratio = 1;
  const auto plain = larmor::gunzip(std::as_bytes(std::span(bytes)), limits);
  const auto view = plain.bytes.view();
  return larmor::fuzz::Product().add({reinterpret_cast<const char*>(view.data()), view.size()});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  return larmor::fuzz::hold(data, size, read, {.whole = false});
}
