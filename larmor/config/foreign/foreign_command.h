// The words that start a script of others, taken apart: launcher, its flags, the script, the script's flags.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace larmor {

struct ForeignCommand {
  enum class Launcher { none, torchrun, deepspeed, accelerate };
  /// A flag without its dashes, with underscores, and its value: "true" where it has none, a list of several.
  using Flag = std::pair<std::string, std::string>;

  Launcher launcher = Launcher::none;
  std::vector<Flag> of_launcher;
  std::string script;
  std::vector<Flag> of_script;
};

/// Throws Error (usage) for words that start no script.
ForeignCommand parse_command(std::span<const std::string> words);

}  // namespace larmor
