// libFuzzer target: any bytes are refused with an Error or expanded as SLURM's list of hosts, and as its list
// of counts (tests/fuzz/oracles.h).
#include "larmor/base/text.h"
#include "larmor/launch/hosts/host_list.h"

#include "tests/fuzz/oracles.h"

namespace {

larmor::fuzz::Product read(std::string_view bytes) {
  constexpr std::size_t most = 65536;
  larmor::fuzz::Product product;
  const bool counts = !bytes.empty() && bytes.find('(') != std::string_view::npos;
  if (counts) {
    const auto all = larmor::expand_counts(bytes);
    if (all.size() > most) larmor::fuzz::broken("more counts than there may be");
    for (const int64_t count : all) product.add(larmor::text(count));
    return product;
  }
  const auto names = larmor::expand_host_list(bytes);
  if (names.size() > most) larmor::fuzz::broken("more hosts than there may be");
  for (const auto& name : names) product.add(name);
  return product;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  return larmor::fuzz::hold(data, size, read, {.whole = false});
}
