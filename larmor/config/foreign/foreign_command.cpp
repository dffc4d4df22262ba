#include "larmor/config/foreign/foreign_command.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

using Launcher = ForeignCommand::Launcher;

/// Flags of launchers that take no value: the word behind them is another flag, or the script.
constexpr std::array<std::string_view, 26> without_value{"standalone",
                                                         "no_python",
                                                         "m",
                                                         "module",
                                                         "use_env",
                                                         "no_local_rank",
                                                         "no_ssh_check",
                                                         "force_multi",
                                                         "enable_each_rank_log",
                                                         "cpu",
                                                         "multi_gpu",
                                                         "tpu",
                                                         "use_deepspeed",
                                                         "use_fsdp",
                                                         "use_megatron_lm",
                                                         "use_parallelism_config",
                                                         "debug",
                                                         "quiet",
                                                         "q",
                                                         "same_network",
                                                         "downcast_bf16",
                                                         "enable_cpu_affinity",
                                                         "dynamo_use_fullgraph",
                                                         "dynamo_use_dynamic",
                                                         "dynamo_use_regional_compilation",
                                                         "u"};

bool is_flag(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         std::string_view("0123456789.").find(word[1]) == std::string::npos;
}

std::string name_of(const std::string& word) {
  std::string name = word.substr(word.find_first_not_of('-'));
  name = name.substr(0, name.find('='));
  std::ranges::replace(name, '-', '_');
  return name;
}

bool is_variable(const std::string& word) {
  const auto sign = word.find('=');
  return sign != std::string::npos && sign > 0 && word.find_first_of("-/.") > sign;
}

std::string program_of(const std::string& word) { return std::filesystem::path(word).filename().string(); }

/// How many of the words are the launcher's own name.
size_t launcher_words(std::span<const std::string> words, Launcher& launcher) {
  const auto at = [&](size_t i) { return i < words.size() ? words[i] : std::string(); };
  const auto program = program_of(at(0));
  if (program == "torchrun") return launcher = Launcher::torchrun, 1;
  if (program == "deepspeed") return launcher = Launcher::deepspeed, 1;
  if (program == "accelerate" && at(1) == "launch") return launcher = Launcher::accelerate, 2;
  const bool is_python = program.starts_with("python");
  if (is_python && at(1) == "-m" && at(2).starts_with("torch.distributed."))
    return launcher = Launcher::torchrun, 3;
  return is_python || program == "bash" || program == "sh" ? 1 : 0;
}

}  // namespace

ForeignCommand parse_command(std::span<const std::string> words) {
  ForeignCommand command;
  while (!words.empty() && is_variable(words.front())) words = words.subspan(1);  // NAME=value of the shell
  words = words.subspan(launcher_words(words, command.launcher));
  size_t i = 0;
  for (; i < words.size() && is_flag(words[i]); ++i) {
    const auto name = name_of(words[i]);
    const auto sign = words[i].find('=');
    const bool has_no_value = std::ranges::find(without_value, name) != without_value.end();
    std::string value = "true";
    if (sign != std::string::npos) {
      value = words[i].substr(sign + 1);
    } else if (!has_no_value && i + 1 < words.size()) {
      value = words[++i];
    }
    command.of_launcher.emplace_back(name, value);
  }
  if (i == words.size())
    fail(Exit::usage, "the command starts no script",
         "give all of it: larmor config import -- torchrun --nproc_per_node 4 train.py --lr 1e-4");
  command.script = words[i++];
  while (i < words.size()) {
    if (!is_flag(words[i]))
      fail(Exit::usage, text(words[i], " behind ", command.script, " belongs to no flag"),
           "give the command as it is typed");
    const auto name = name_of(words[i]);
    const auto sign = words[i].find('=');
    std::vector<std::string> values;
    if (sign != std::string::npos) values.push_back(words[i].substr(sign + 1));
    for (++i; sign == std::string::npos && i < words.size() && !is_flag(words[i]); ++i)
      values.push_back(words[i]);
    command.of_script.emplace_back(name, values.empty()       ? "true"
                                         : values.size() == 1 ? values.front()
                                                              : text('[', join(values, ", "), ']'));
  }
  return command;
}

}  // namespace larmor
