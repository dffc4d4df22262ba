#include "larmor/hardware/allocator_settings.h"

#include <algorithm>

#include "larmor/base/text.h"

namespace larmor {

std::optional<bool> segments_grow_by(const std::map<std::string, std::string>& environment) {
  std::optional<bool> all_grow;
  for (const char* const name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
    const auto found = environment.find(name);
    if (found == environment.end()) continue;
    std::string setting = found->second;
    std::erase(setting, ' ');
    const auto parts = split(setting, ',');
    const bool grow = std::ranges::find(parts, "expandable_segments:True") != parts.end();
    all_grow = grow && all_grow.value_or(true);
  }
  return all_grow;
}

}  // namespace larmor
