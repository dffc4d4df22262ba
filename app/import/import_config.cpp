#include "app/import/import_config.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/files/whole_file.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"
#include "larmor/config/imported_config.h"

namespace larmor::app {
namespace {

struct ImportFlags {
  std::string workload, output;
};

ImportTerms terms_of(const Workload& workload, const std::vector<std::string>& stages) {
  const WorkloadGuide& guide = workload.guide();
  return {.guide_files = guide.files,
          .stages = stages,
          .flags = guide.flags,
          .batch_is_of_all = guide.batch_is_of_all};
}

/// The only workload whose guide has such a file; null where none has, or several.
const Workload* workload_of_file(const Program& program, const std::string& file) {
  const Workload* found = nullptr;
  for (const auto& workload : program.workloads()) {
    const auto stages = workload.stages();
    if (!can_import(file, terms_of(workload, stages))) continue;
    if (found != nullptr) return nullptr;
    found = &workload;
  }
  return found;
}

const Workload* workload_of_script(const Program& program, const std::string& script) {
  const auto name = std::filesystem::path(script).filename().string();
  const auto& workloads = program.workloads();
  const auto found = std::ranges::find_if(workloads, [&](const Workload& workload) {
    return std::ranges::find(workload.guide().scripts, name) != workload.guide().scripts.end();
  });
  return found == workloads.end() ? nullptr : &*found;
}

const Workload& workload_of(const Program& program, const ImportFlags& flags) {
  if (!flags.workload.empty()) return program.workload(flags.workload);
  const auto& words = program.arguments();
  const auto* const found = words.command.empty() ? workload_of_file(program, words.target)
                                                  : workload_of_script(program, script_of(words.command));
  if (found != nullptr) return *found;
  std::vector<std::string> names;
  for (const auto& workload : program.workloads()) names.push_back(workload.name());
  fail(Exit::usage, "it does not show which workload is meant",
       text("say it: --workload W, W being one of ", join(names, ", ")));
}

std::string command_of(const Workload& workload, const ImportedConfig& imported, const std::string& file) {
  std::string command = "larmor train " + workload.name();
  for (const auto& flag : imported.flags)
    if (flag.starts_with("-c ")) command += " " + flag;
  command += " -c " + file;
  for (const auto& flag : imported.flags)
    if (!flag.starts_with("-c ")) command += " " + flag;
  return printable(command);
}

Json to_json(const Workload& workload, const ImportedConfig& imported, const std::string& command) {
  Json said;
  said["workload"] = workload.name();
  said["command"] = command;
  said["values"] = Json::array();
  for (const auto& one : imported.values) {
    Json row;
    row["key"] = one.key;
    row["value"] = one.value;
    row["from"] = one.from;
    said["values"].push_back(row);
  }
  said["notes"] = imported.notes;
  return said;
}

int import_config(Program& program, const ImportFlags& flags) {
  const auto& words = program.arguments();
  program.refuse_overrides();
  if (words.target.empty() == words.command.empty())
    fail(Exit::usage, "a file is needed, or a command behind --, and one of them alone",
         "larmor config import FILE, or larmor config import -- torchrun … train.py …");
  const auto& workload = workload_of(program, flags);
  const auto stages = workload.stages();
  const auto terms = terms_of(workload, stages);
  const auto imported =
      words.command.empty() ? import_file(words.target, terms) : import_command(words.command, terms);
  const auto command = command_of(workload, imported, flags.output.empty() ? "FILE.yaml" : flags.output);
  std::string yaml = text("# ", command, "\n", imported.to_yaml());
  if (!imported.notes.empty()) yaml += "# What has become no key:\n";
  for (const auto& note : imported.notes) yaml += text("#   ", printable(note), '\n');
  const auto json = to_json(workload, imported, command);
  if (flags.output.empty()) {
    program.show(json, Lines().add_text(yaml));
  } else {
    write_output(program.storage(), flags.output, yaml);
    program.show(json, Lines(text("wrote ", flags.output, "; ", command)));
  }
  return 0;
}

}  // namespace

void add_import(Program& program, CLI::App& family) {
  const auto flags = std::make_shared<ImportFlags>();
  auto& verb = program.add_verb(
      "import", "a guide's file, DeepSpeed's JSON, accelerate's YAML, or the command behind --, in our keys",
      [&program, flags] { return import_config(program, *flags); }, &family);
  program.add_target(verb, "FILE", "the file; none where a command follows --");
  verb.add_option("--workload", flags->workload, "whose config it is, where it does not show");
  verb.add_option("--output", flags->output, "the file to write; stdout without it");
}

}  // namespace larmor::app
