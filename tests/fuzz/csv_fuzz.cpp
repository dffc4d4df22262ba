// libFuzzer target: any bytes are refused with an Error or read as a table (tests/fuzz/oracles.h).
#include "larmor/formats/csv.h"

#include "tests/fuzz/oracles.h"

namespace {

larmor::fuzz::Product read(std::string_view bytes) {
  larmor::parse_csv(bytes, "fuzz");
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  return larmor::fuzz::hold(data, size, read, {.whole = false});
}
