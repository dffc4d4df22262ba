// What two runs that should be equal are compared by.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace larmor::testing {

struct TrainedState {
  /// The newest checkpoint's files and their SHA-256; of state.json the content without the seconds spent.
  std::map<std::string, std::string> files;
  /// The step lines of events.jsonl without what depends on the clock; superseded ones left out.
  std::vector<std::string> steps;
  bool operator==(const TrainedState&) const = default;
};

TrainedState trained_state(const std::filesystem::path& run);

/// Names of the steps whose folders lie in checkpoints/.
std::vector<std::string> checkpoint_names(const std::filesystem::path& run);

/// The generations of events.jsonl, each once, in the order of their first lines.
std::vector<int64_t> generations_of(const std::filesystem::path& run);

/// The processes whose parent is `parent`, by /proc.
std::vector<int> children_of(int parent);
/// Whether that process is gone or a zombie.
bool is_over(int process);

}  // namespace larmor::testing
