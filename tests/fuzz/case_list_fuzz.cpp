// libFuzzer target: any bytes are refused with an Error or read as a list of cases, as JSON where they begin
// so and otherwise as CSV (tests/fuzz/oracles.h).
#include "larmor/data/index/case_list.h"

#include "tests/fuzz/oracles.h"

namespace {

larmor::fuzz::Product read(std::string_view bytes) {
  const bool is_json = bytes.starts_with('{') || bytes.starts_with('[');
  larmor::fuzz::Product product;
  for (const auto& entry :
       larmor::read_case_list(larmor::fuzz::file_of(bytes, is_json ? "list.json" : "list.csv"))) {
    product.add(entry.patient).add(entry.label);
    for (const auto& [name, file] : entry.files) product.add(name).add(file);
    if (entry.files.empty()) larmor::fuzz::broken("a listed case has no file");
  }
  return product;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  return larmor::fuzz::hold(data, size, read, {.whole = false});
}
