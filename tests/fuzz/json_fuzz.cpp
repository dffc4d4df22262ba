// libFuzzer target: any bytes are refused with an Error or read as JSON, which reads back from its own text
// the same (tests/fuzz/oracles.h).
#include "larmor/base/json.h"
#include "larmor/base/printable.h"

#include "tests/fuzz/oracles.h"

namespace {

larmor::fuzz::Product read(std::string_view bytes) {
  const auto value = larmor::parse_json(bytes, "fuzz");
  const auto shown = larmor::printable(value.dump(-1, ' ', false, larmor::Json::error_handler_t::replace));
  if (larmor::parse_json(shown, "shown") != value)
    larmor::fuzz::broken("JSON that is shown is other JSON: " + shown);
  return larmor::fuzz::Product().add(shown);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  return larmor::fuzz::hold(data, size, read, {.whole = false});
}
