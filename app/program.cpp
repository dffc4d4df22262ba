#include "app/program.h"

#include <algorithm>
#include <iostream>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/base/version.h"
#include "larmor/launch/rank.h"

namespace larmor::app {

namespace {

// Flags accept dashes and underscores alike: --dry_run is --dry-run.
std::string with_dashes(std::string argument) {
  if (!argument.starts_with("--")) return argument;
  const auto end = std::min(argument.find('='), argument.size());
  std::replace(argument.begin() + 2, argument.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
  return argument;
}

[[noreturn]] void refuse_word(const std::string& word) {
  const auto flag = word.substr(0, word.find('='));
  const auto instead = hint_for_foreign_flag(flag);
  fail(Exit::usage, text(flag, " is not a flag of larmor"), instead.empty() ? "larmor help VERB lists the flags" : instead);
}

}  // namespace

Program::Program()
    : cli_("Larmor trains 3-D medical-imaging models on as many GPUs as there are.", "larmor"),
      workloads_(make_workloads()) {
  cli_.set_version_flag("--version", text("larmor ", version()));
  cli_.require_subcommand(0, 1);
  cli_.footer("larmor help VERB says more of one. Configuration: key=value, or -c FILE.");
}

CLI::App& Program::add_family(const std::string& name, const std::string& help) {
  auto& family = *cli_.add_subcommand(name, help);
  family.require_subcommand(1);
  return family;
}

CLI::App& Program::add_verb(const std::string& name, const std::string& help, Action action, CLI::App* parent) {
  auto& verb = *(parent == nullptr ? cli_ : *parent).add_subcommand(name, help);
  verb.add_flag("--json", words_.json, "one JSON document on stdout, people's text on stderr");
  verb.add_flag("--quiet", words_.quiet, "only warnings and errors");
  verb.add_flag("--no-color", words_.no_color, "no colours");
  verb.callback([this, action = std::move(action)] { action_ = action; });
  return verb;
}

CLI::App& Program::add_configured_verb(const std::string& name, const std::string& help, Action action,
                                       CLI::App* parent) {
  auto& verb = add_verb(name, help, std::move(action), parent);
  verb.add_option("target", operands_, "WORKLOAD or RUN, then key=value …")->type_name("WORKLOAD|RUN key=value …");
  verb.add_option("-c,--config", words_.configs, "a config file (YAML or JSON), or the name of a shipped one")->allow_extra_args(false);
  verb.add_option("--stage", words_.stage, "the stage of the workload; default its first");
  return verb;
}

int Program::run(std::vector<std::string> arguments) {
  for (auto& argument : arguments) argument = with_dashes(argument);
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    cli_.parse(arguments);
  } catch (const CLI::Success& done) {
    return cli_.exit(done);
  } catch (const CLI::ExtrasError&) {
    for (const auto& word : cli_.remaining(/*recurse=*/true)) {
      if (word.starts_with("-")) refuse_word(word);
    }
    const auto rest = cli_.remaining(/*recurse=*/true);
    std::vector<std::string> verbs;
    for (const auto* verb : cli_.get_subcommands([](const CLI::App*) { return true; })) verbs.push_back(verb->get_name());
    const auto near = rest.empty() ? std::string() : nearest(rest.front(), verbs);
    fail(Exit::usage, text("there is no verb ", join(rest, " ")), near.empty() ? "larmor --help lists the verbs" : text("did you mean ", near, "?"));
  } catch (const CLI::ParseError& error) {
    fail(Exit::usage, error.what(), "larmor help VERB lists what it takes");
  }
  for (const auto& operand : operands_) {
    const bool assignment = operand.find('=') != std::string::npos && !is_workload(operand);
    if (assignment) words_.overrides.push_back(operand);
    else if (words_.target.empty()) words_.target = operand;
    else fail(Exit::usage, text("two targets: ", words_.target, " and ", operand), "give one workload or run, then key=value");
  }
  if (!action_) {
    std::cout << cli_.help();
    return static_cast<int>(Exit::usage);
  }
  return action_();
}

bool Program::is_workload(const std::string& name) const {
  return std::any_of(workloads_.begin(), workloads_.end(), [&](const auto& one) { return one->name() == name; });
}

Workload& Program::workload(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& one : workloads_) {
    if (one->name() == name) return *one;
    names.push_back(one->name());
  }
  if (name.empty()) fail(Exit::usage, "no workload was named", text("the workloads are: ", join(names, ", ")));
  const auto near = nearest(name, names);
  fail(Exit::usage, text("there is no workload ", name),
       near.empty() ? text("the workloads are: ", join(names, ", ")) : text("did you mean ", near, "?"));
}

std::string Program::stage_of(const Workload& workload) const {
  const auto stages = workload.stages();
  if (words_.stage.empty()) return stages.front();
  if (std::find(stages.begin(), stages.end(), words_.stage) != stages.end()) return words_.stage;
  fail(Exit::usage, text(workload.name(), " has no stage ", words_.stage), text("its stages are: ", join(stages, ", ")));
}

LoadedConfig Program::load(Workload& workload) {
  const auto stage = stage_of(workload);
  Sources sources;
  sources.files.push_back(find_config("default", workload.name()));
  for (const auto& name : words_.configs) sources.files.push_back(find_config(name, workload.name()));
  sources.environment = process_environment();
  sources.overrides = words_.overrides;
  auto config = load_config(sources, workload.name(), stage, workload.fields(stage));
  workload.check(config.config);
  return config;
}

RunFolder Program::run_folder() const {
  if (words_.target.empty()) fail(Exit::usage, "no run was named", "give a run folder, such as runs/latest");
  return find_run(words_.target, RunSection{}.folder);
}

void Program::show(const Json& json, const std::string& text_form) const {
  if (words_.json) std::cout << to_text(json) << std::flush;
  else std::cout << text_form << std::flush;
}

}  // namespace larmor::app
