#include "larmor/config/imported_config.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"
#include "larmor/config/foreign/accelerate.h"
#include "larmor/config/foreign/foreign_command.h"
#include "larmor/config/foreign/foreign_file.h"
#include "larmor/config/foreign/guide_translation.h"
#include "larmor/config/foreign/script_flags.h"
#include "larmor/config/load.h"
#include "larmor/config/scalar.h"
#include "larmor/config/tree.h"

namespace larmor {
namespace {

/// The values of a tree, in its order; a stage's section is at the top.
void add_values(const Node& tree, const std::string& around, const std::map<std::string, std::string>& from,
                std::vector<ImportedConfig::Value>& values) {
  for (const Entry& entry : tree.entries) {
    const auto key = around.empty() ? entry.key : text(around, '.', entry.key);
    const auto found = std::ranges::find_if(
        from, [&](const auto& one) { return one.first == key || join(split(one.first, ':'), ".") == key; });
    if (found == from.end() && entry.value.kind == Node::Kind::mapping) {
      add_values(entry.value, key, from, values);
    } else {
      values.push_back({.key = found == from.end() ? key : found->first,
                        .value = flow_text(entry.value),
                        .from = found == from.end() ? entry.key : found->second});
    }
  }
}

/// What a translation has made of several at once, a later one counting more.
void add(const Translation& translation, ImportedConfig& imported) {
  std::vector<ImportedConfig::Value> values;
  add_values(translation.tree, "", translation.came_from, values);
  for (auto& one : values) {
    std::erase_if(imported.values, [&](const auto& other) { return other.key == one.key; });
    imported.values.push_back(std::move(one));
  }
  imported.flags.insert(imported.flags.end(), translation.flags.begin(), translation.flags.end());
  const auto& notes = translation.without_key;
  imported.notes.insert(imported.notes.end(), notes.begin(), notes.end());
}

void refuse_any(const Problems& problems, const std::string& what) {
  std::vector<std::string> lines;
  for (const Problem& problem : problems)
    lines.push_back(text(problem.place, ": ", problem.key, problem.key.empty() ? "" : " ", problem.what));
  if (problems.empty()) return;
  fail(Exit::usage,
       lines.size() == 1 ? lines.front() : text(what, " has ", lines.size(), " faults:", items(lines)),
       "mend it, or say what is meant in our keys");
}

/// Flags of a launcher as a mapping with the keys of its table.
Node tree_of(const std::vector<ForeignCommand::Flag>& flags, const Source& source, Problems& problems) {
  Node root = empty_mapping();
  for (const auto& [name, value] : flags) {
    auto node = parse_value(value, name, source, problems);
    if (node) put_value(root, split(name, '.'), {&source, 0}, std::move(*node), problems);
  }
  return root;
}

/// Launchers say how many ranks a host has, and parallel.ranks how many all hosts have together.
std::vector<ForeignCommand::Flag> with_all_ranks(std::vector<ForeignCommand::Flag> flags) {
  int64_t hosts = 1;
  for (const auto& [name, value] : flags)
    if (name == "nnodes" || name == "num_nodes") hosts = as_integer(value).value_or(1);
  for (auto& [name, value] : flags) {
    if (name != "nproc_per_node" && name != "num_gpus") continue;
    const auto count = as_integer(value);
    if (value == "gpu" || value == "cpu") value = "auto";
    if (count) value = text(*count * hosts);
  }
  return flags;
}

}  // namespace

std::string ImportedConfig::to_yaml() const {
  std::string yaml;
  std::vector<std::string> open;
  for (const auto& one : values) {
    auto words = split(one.key, '.');
    if (const auto sign = words.front().find(':'); sign != std::string::npos) {
      const std::string whole = words.front();
      words.front() = whole.substr(sign + 1);
      words.insert(words.begin(), whole.substr(0, sign));
    }
    size_t same = 0;
    while (same < open.size() && same + 1 < words.size() && open[same] == words[same]) ++same;
    open.resize(same);
    for (; open.size() + 1 < words.size(); open.push_back(words[open.size()]))
      yaml += text(std::string(2 * open.size(), ' '), words[open.size()], ":\n");
    yaml += text(std::string(2 * open.size(), ' '), words.back(), ": ", one.value, "  # from ",
                 printable(one.from), '\n');
  }
  return yaml;
}

ImportedConfig import_file(const std::filesystem::path& file, const ImportTerms& terms) {
  const Source source{
      .name = file.string(), .short_name = printable(file.filename().string()), .is_file = true};
  Problems problems;
  const std::string content = read_text(file, most_config_bytes);
  const Node tree = parse_config(content, source, problems);
  const auto translation = translate_foreign_file(content, tree, terms.guide_files, terms.stages, problems);
  refuse_any(problems, file.string());
  if (!translation)
    fail(Exit::usage, text(file.string(), " is of no kind that is known here"),
         "a guide's file, DeepSpeed's JSON and accelerate's YAML are; a config of ours goes behind -c as it "
         "is");
  ImportedConfig imported;
  add(*translation, imported);
  std::ranges::stable_sort(imported.values, {}, &ImportedConfig::Value::key);
  return imported;
}

bool can_import(const std::filesystem::path& file, const ImportTerms& terms) {
  const Source source{.name = file.string(), .short_name = "", .is_file = true};
  Problems problems;
  const std::string content = read_text(file, most_config_bytes);
  const Node tree = parse_config(content, source, problems);
  if (guide_file_of(tree, terms.guide_files) == nullptr) return false;
  translate_foreign_file(content, tree, terms.guide_files, terms.stages, problems);
  return problems.empty();
}

std::string script_of(std::span<const std::string> words) { return parse_command(words).script; }

ImportedConfig import_command(std::span<const std::string> words, const ImportTerms& terms) {
  const auto command = parse_command(words);
  std::deque<Source> sources;
  const auto source_named = [&](const std::string& name) -> const Source& {
    return sources.emplace_back(Source{.name = name, .short_name = name});
  };
  Problems problems;
  ImportedConfig imported;
  const ScriptFlags script(terms.flags, terms.batch_is_of_all);
  std::vector<ForeignCommand::Flag> with_keys;
  for (const auto& flag : command.of_script) {
    const auto answer = script.knows(flag.first) ? "" : hint_for_foreign_flag(flag.first, terms.flags);
    if (answer.empty())
      with_keys.push_back(flag);
    else
      imported.notes.push_back(text(flag.first, ": ", answer));
  }
  const Node of_script = tree_of(with_keys, source_named(command.script), problems);
  add(translate_guide_file(of_script, script.file(), {}, problems), imported);
  if (command.launcher == ForeignCommand::Launcher::accelerate) {
    const Node tree =
        tree_of(accelerate_keys(command.of_launcher), source_named("accelerate launch"), problems);
    add(translate_accelerate(tree, problems), imported);
  } else {
    const Node tree = tree_of(with_all_ranks(command.of_launcher), source_named("the launcher"), problems);
    add(translate_guide_file(tree, launcher_flags(), {}, problems), imported);
  }
  refuse_any(problems, "the command");
  std::ranges::stable_sort(imported.values, {}, &ImportedConfig::Value::key);
  return imported;
}

}  // namespace larmor
