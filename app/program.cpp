#include "app/program.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <sstream>
#include <system_error>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/base/version.h"
#include "larmor/launch/rank.h"

#include "app/say.h"

namespace larmor::app {

namespace {

// Flags accept dashes and underscores alike: --dry_run is --dry-run.
std::string with_dashes(std::string argument) {
  if (!argument.starts_with("--")) return argument;
  const auto end = std::min(argument.find('='), argument.size());
  std::replace(argument.begin() + 2, argument.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
  return argument;
}

// "checkpoint list" for its app; "" for the program itself.
std::string words_of(const CLI::App* app) {
  std::string words;
  for (; app->get_parent() != nullptr; app = app->get_parent())
    words = app->get_name() + (words.empty() ? "" : " ") + words;
  return words;
}

// The verb that was named, and below a family the one of its verbs.
const CLI::App* named_verb(const CLI::App* app) {
  const auto named = app->get_subcommands();
  return named.empty() ? app : named_verb(named.back());
}

std::string help_hint(const CLI::App* verb, const std::string& what) {
  const auto words = words_of(verb);
  return text("larmor ", words.empty() ? "--help" : "help " + words, " lists ", what);
}

/// The workloads' own answers come first: they know what their guides mean by a flag.
std::string answer_to(const std::string& flag, const std::vector<Workload>& workloads) {
  ForeignFlags all;
  for (const auto& workload : workloads)
    all.insert(workload.foreign_flags().begin(), workload.foreign_flags().end());
  return hint_for_foreign_flag(flag, all);
}

[[noreturn]] void refuse_flag(const std::string& word, const CLI::App* verb,
                              const std::vector<Workload>& workloads) {
  const auto flag = word.substr(0, word.find('='));
  const auto instead = answer_to(flag, workloads);
  fail(Exit::usage, text(flag, " is not a flag of larmor"),
       instead.empty() ? help_hint(verb, "the flags") : instead);
}

std::vector<std::string> verbs_below(const CLI::App* app) {
  std::vector<std::string> names;
  for (const auto* verb : app->get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
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
  family.require_subcommand(0, 1);
  return family;
}

CLI::App& Program::add_verb(const std::string& name, const std::string& help, Action action,
                            CLI::App* parent) {
  auto& verb = *(parent == nullptr ? cli_ : *parent).add_subcommand(name, help);
  verb.add_flag("--json", arguments_.json, "one JSON document on stdout, people's text on stderr");
  verb.add_flag("--quiet", arguments_.quiet, "only warnings and errors");
  verb.add_flag("--no-color", arguments_.no_color, "no colours");
  verb.callback([this, action = std::move(action)] { action_ = action; });
  return verb;
}

void Program::add_target(CLI::App& verb, const std::string& kind) {
  verb.add_option("target", operands_, kind + ", then key=value …")->type_name(kind + " key=value");
}

void Program::add_config_flags(CLI::App& verb) {
  verb.add_option("-c,--config", arguments_.configs,
                  "a config file (YAML or JSON), or the name of a shipped one")
      ->allow_extra_args(false);
  verb.add_option("--stage", arguments_.stage, "the stage of the workload; default its first");
}

CLI::App& Program::add_workload_verb(const std::string& name, const std::string& help, Action action,
                                     CLI::App* parent) {
  auto& verb = add_verb(name, help, std::move(action), parent);
  add_target(verb, "WORKLOAD");
  add_config_flags(verb);
  return verb;
}

CLI::App& Program::add_run_verb(const std::string& name, const std::string& help, Action action,
                                CLI::App* parent) {
  auto& verb = add_verb(name, help, std::move(action), parent);
  verb.add_option("target", operands_, "a run folder, or the name of a run")->type_name("RUN");
  return verb;
}

CLI::App& Program::add_workload_or_run_verb(const std::string& name, const std::string& help, Action action) {
  auto& verb = add_verb(name, help, std::move(action));
  add_target(verb, "WORKLOAD|RUN");
  add_config_flags(verb);
  return verb;
}

void Program::refuse_arguments(const std::vector<std::string>& words) const {
  const auto* verb = named_verb(&cli_);
  for (const auto& word : words) {
    if (word.starts_with("-")) refuse_flag(word, verb, workloads_);
  }
  const auto names = verbs_below(verb);
  const auto before = words_of(verb);
  if (names.empty())
    fail(Exit::usage, text(before, " takes no ", join(words, " ")), help_hint(verb, "what it takes"));
  const auto near = words.empty() ? std::string() : nearest(words.front(), names);
  fail(Exit::usage, text("there is no verb ", before, before.empty() ? "" : " ", join(words, " ")),
       near.empty() ? help_hint(verb, "the verbs") : text("did you mean ", near, "?"));
}

int Program::run(std::vector<std::string> arguments) {
  int status = 0;
  try {
    status = parse_and_act(std::move(arguments));
  } catch (const std::exception&) {
    if (!words_of_loss().empty()) say("larmor: " + words_of_loss());
    throw;
  }
  if (loss_ == 0) return status;
  // The reader had enough, as `head` has. What others have done then is end by the signal.
  constexpr int by_signal = 128;
  if (loss_ == EPIPE) return status == 0 ? by_signal + SIGPIPE : status;
  if (status == 0)
    fail(Exit::environment, words_of_loss(), "the work is done: make room for its result, and ask again");
  say("larmor: " + words_of_loss());
  return status;
}

/// For a person who can still see it; empty where nothing was lost, or nobody was there to read it.
std::string Program::words_of_loss() const {
  if (loss_ == 0 || loss_ == EPIPE) return {};
  return text("stdout has not taken the result: ", std::generic_category().message(loss_));
}

int Program::parse_and_act(std::vector<std::string> arguments) {
  if (const auto dashes = std::find(arguments.begin(), arguments.end(), "--"); dashes != arguments.end()) {
    arguments_.command.assign(dashes + 1, arguments.end());
    arguments.erase(dashes, arguments.end());
  }
  for (auto& argument : arguments) argument = with_dashes(argument);
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    const auto verbs = verbs_below(&cli_);
    const bool known =
        arguments.empty() || std::find(verbs.begin(), verbs.end(), arguments.front()) != verbs.end();
    if (!known) refuse_arguments(arguments);
    arguments.emplace_back("--help");
  }
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    cli_.parse(arguments);
  } catch (const CLI::Success& done) {
    std::ostringstream help;
    const int status = cli_.exit(done, help, help);
    print(Lines().add_text(help.str()));
    return status;
  } catch (const CLI::ExtrasError&) {
    refuse_arguments(cli_.remaining(/*recurse=*/true));
  } catch (const CLI::ParseError& error) {
    fail(Exit::usage, error.what(), help_hint(named_verb(&cli_), "what it takes"));
  }
  return act();
}

int Program::act() {
  if (!arguments_.command.empty() && named_verb(&cli_)->get_name() != "launch") refuse_arguments({"--"});
  for (const auto& operand : operands_) {
    const bool assignment = operand.find('=') != std::string::npos && !is_workload(operand);
    if (assignment)
      arguments_.overrides.push_back(operand);
    else if (arguments_.target.empty())
      arguments_.target = operand;
    else
      fail(Exit::usage, text("two targets: ", arguments_.target, " and ", operand),
           "give one workload or run, then key=value");
  }
  if (!action_) {
    print(Lines().add_text(cli_.help()));
    return static_cast<int>(Exit::usage);
  }
  return action_();
}

bool Program::is_workload(const std::string& name) const {
  return std::any_of(workloads_.begin(), workloads_.end(),
                     [&](const Workload& one) { return one.name() == name; });
}

const Workload& Program::workload(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& one : workloads_) {
    if (one.name() == name) return one;
    names.push_back(one.name());
  }
  if (name.empty())
    fail(Exit::usage, "no workload was named", text("the workloads are: ", join(names, ", ")));
  const auto near = nearest(name, names);
  fail(Exit::usage, text("there is no workload ", name),
       near.empty() ? text("the workloads are: ", join(names, ", ")) : text("did you mean ", near, "?"));
}

std::string Program::stage_of(const Workload& workload) const {
  return arguments_.stage.empty() ? workload.stages().front() : workload.named(arguments_.stage).name;
}

LoadedStage Program::load(const Workload& workload) const { return load(workload, /*is_draft=*/false); }

LoadedStage Program::load_to_show(const Workload& workload) const {
  return load(workload, /*is_draft=*/true);
}

LoadedStage Program::load(const Workload& workload, bool is_draft) const {
  const auto stage = stage_of(workload);
  Sources sources;
  sources.files.push_back(find_config("default", workload.name(), stage));
  for (const auto& name : arguments_.configs)
    sources.files.push_back(find_config(name, workload.name(), stage));
  sources.environment = process_environment();
  sources.overrides = arguments_.overrides;
  sources.is_draft = is_draft;
  auto loaded = load_stage(sources, workload, stage);
  if (!arguments_.quiet) {
    for (const auto& note : loaded.config.notes) say(note);
  }
  loaded.stage->check(loaded.config.config);
  return loaded;
}

RunFolder Program::run_folder() const {
  const auto& target = arguments_.target;
  if (target.empty()) fail(Exit::usage, "no run was named", "give a run folder, such as runs/latest");
  if (is_workload(target)) {
    fail(Exit::usage, text("a run is needed, and ", target, " is a workload"),
         text("larmor train ", target, " makes one; the newest is then runs/latest"));
  }
  const auto folder = find_run(target, RunSection{}.folder);
  if (!arguments_.configs.empty()) {
    fail(Exit::usage,
         text("-c ", arguments_.configs.front(), ": the run ", target, " has its config already"),
         "change single values with key=value, or name a workload in place of the run");
  }
  if (arguments_.stage.empty()) return folder;
  const auto stage = read_json(folder.environment()).at("stage").get<std::string>();
  if (arguments_.stage != stage) {
    fail(Exit::usage,
         text("--stage ", arguments_.stage, ": the run ", target, " is one of the stage ", stage),
         "leave --stage out");
  }
  return folder;
}

void Program::refuse_overrides() const {
  if (arguments_.overrides.empty()) return;
  fail(Exit::usage, text(arguments_.overrides.front(), ": this verb reads no config"),
       help_hint(named_verb(&cli_), "what it takes"));
}

void Program::show_kept() {
  const auto kept = std::move(kept_);
  show(kept->all, kept->lines);
}

void Program::show(const Json& json, const Lines& lines) const {
  if (kept_) {
    kept_->all.push_back(json);
    kept_->lines.add(lines);
    return;
  }
  print(arguments_.json ? Lines().add_text(to_text(json)) : lines);
}

void Program::print(const Lines& lines, int descriptor) const {
  if (const int error = write_to(descriptor, lines); loss_ == 0) loss_ = error;
}

Storage& Program::storage() {
  if (!storage_) storage_ = make_storage();
  return *storage_;
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace larmor::app
