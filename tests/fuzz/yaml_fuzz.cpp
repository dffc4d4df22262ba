// libFuzzer target: any text is refused with a list of its faults or loaded as a config, which is the same
// one again when it is written and read back (tests/fuzz/oracles.h).
#include "larmor/config/load.h"

#include "tests/fuzz/oracles.h"

namespace {

larmor::LoadedConfig load(std::string_view text) {
  larmor::Sources sources;
  sources.files = {larmor::fuzz::file_of(text, "config.yaml")};
  // A workload without keys of its own.
  return larmor::load_config(sources, "fuzz", "stage",
                             {.model = [](larmor::Fields&) {}, .loss = [](larmor::Fields&) {}});
}

larmor::fuzz::Product read(std::string_view bytes) {
  const auto loaded = load(bytes);
  for (const bool with_origins : {false, true}) {
    if (load(loaded.to_yaml(with_origins)).sha256() != loaded.sha256())
      larmor::fuzz::broken("a config that is written and read back is another one");
  }
  return larmor::fuzz::Product().add(loaded.sha256());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  return larmor::fuzz::hold(data, size, read, {.whole = false});
}
