// libFuzzer target: any manifest, sealed as whoever writes one seals it, is found good or not, with a reason,
// and its checkpoint is listed (tests/fuzz/oracles.h). A good one names files of its own folder.
#include "larmor/base/error.h"
#include "larmor/base/printable.h"
#include "larmor/checkpoint/manifest.h"

#include "tests/fuzz/oracles.h"

namespace {

/// Sealed where it is an object; one of eight stays as it is.
std::string sealed(std::string_view bytes) {
  if (bytes.size() % 8 == 7) return std::string(bytes);
  try {
    const auto manifest = larmor::parse_json(bytes, "fuzz");
    if (manifest.is_object()) return larmor::seal(manifest);
  } catch (const larmor::Error&) {  // as it is
  }
  return std::string(bytes);
}

larmor::fuzz::Product read(std::string_view bytes) {
  const auto folder = larmor::fuzz::file_of(sealed(bytes), "step-00000012/manifest.json").parent_path();
  larmor::fuzz::file_of("{}", "step-00000012/state.json");
  larmor::fuzz::file_of(std::string("\x02\0\0\0\0\0\0\0{}", 10), "step-00000012/model.safetensors");
  const auto entry = larmor::verify_checkpoint(folder);
  if (!entry.ok) larmor::fail(larmor::Exit::checkpoint, entry.reason);
  for (const auto& file : larmor::files_of(entry.manifest)) {
    if (file.name.find('/') != std::string::npos || file.name == ".." ||
        larmor::printable(file.name) != file.name)
      larmor::fuzz::broken("a good manifest names " + larmor::printable(file.name));
  }
  return larmor::fuzz::Product().add(larmor::to_text(entry.manifest));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  return larmor::fuzz::hold(data, size, read, {.whole = false});
}
