// CUDA_VISIBLE_DEVICES, read as CUDA reads it: NVML does not know of it.
#include <set>

#include "larmor/base/text.h"
#include "larmor/hardware/kernel_file.h"
#include "larmor/hardware/probes.h"

namespace larmor {
namespace {

constexpr int nothing = -1;

/// The position of the GPU that `entry` names by number or by the beginning of its UUID.
int position_of(const std::vector<Gpu>& gpus, const std::string& entry) {
  if (const auto number = whole_number(entry)) {
    return *number >= 0 && *number < static_cast<int64_t>(gpus.size()) ? static_cast<int>(*number) : nothing;
  }
  int found = nothing;
  for (size_t i = 0; i < gpus.size() && !entry.empty(); ++i) {
    if (!gpus[i].uuid.starts_with(entry)) continue;
    if (found != nothing) return nothing;  // two begin so: CUDA takes neither
    found = static_cast<int>(i);
  }
  return found;
}

}  // namespace

std::vector<Gpu> visible_gpus(const std::vector<Gpu>& gpus, const std::optional<std::string>& visible_devices,
                              std::vector<std::string>& notes) {
  if (!visible_devices) return gpus;
  std::vector<Gpu> visible;
  std::set<int> taken;
  const std::string_view list = trim(*visible_devices);
  for (const std::string& word : list.empty() ? std::vector<std::string>{} : split(list, ',')) {
    const std::string entry(trim(word));
    const int position = position_of(gpus, entry);
    if (position == nothing || !taken.insert(position).second) {
      const char* problem = position != nothing         ? "\" stands there twice"
                            : entry.starts_with("MIG-") ? "\" is a MIG slice, which is not supported"
                                                        : "\" names no GPU";
      notes.push_back(text("CUDA_VISIBLE_DEVICES: \"", entry, problem, "; it and what follows are not seen"));
      break;
    }
    visible.push_back(gpus[static_cast<size_t>(position)]);
    visible.back().index = static_cast<int>(visible.size()) - 1;
  }
  if (visible.size() < gpus.size()) {
    notes.push_back(text("CUDA_VISIBLE_DEVICES: ", visible.size(), " of ", gpus.size(), " GPUs"));
  }
  return visible;
}

}  // namespace larmor
