// The flags of launchers and of the scripts that they start, as tables of keys.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larmor/config/foreign/foreign_command.h"
#include "larmor/config/guide_file.h"
#include "larmor/config/run_config.h"

namespace larmor {

/// Every flag of other programs that has an answer, and the answer.
std::vector<std::pair<std::string_view, const char*>> all_foreign_flags();

/// The flags of torchrun and of deepspeed.
const GuideFile& launcher_flags();
/// Flags of `accelerate launch` under the keys of accelerate's YAML.
std::vector<ForeignCommand::Flag> accelerate_keys(const std::vector<ForeignCommand::Flag>& flags);

/// The flags of training scripts. What the workload's guide answers comes before what is known of all.
class ScriptFlags {
 public:
  ScriptFlags(const ForeignFlags& answers, bool batch_is_of_all);
  const GuideFile& file() const { return file_; }
  bool knows(const std::string& flag) const;

 private:
  /// An answer that names a key to be set is a row; any other one is for a person.
  void add(const std::string& flag, const std::string& answer);

  std::deque<std::string> texts_;  // what the keys borrow
  std::vector<GuideKey> keys_;
  GuideFile file_;
};

}  // namespace larmor
