#include "app/program.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <sstream>
#include <system_error>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/launch/rank.h"

#include "app/build_words.h"
#include "app/flags/target_names.h"
#include "app/flags/unknown_flags.h"
#include "app/say.h"
#include "app/stage_chain.h"

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
std::string verb_name(const CLI::App* app) {
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
  const auto words = verb_name(verb);
  return text("larmor ", words.empty() ? "--help" : "help " + words, " lists ", what);
}

std::vector<std::string> flags_of(const CLI::App* verb) {
  std::vector<std::string> flags;
  for (const auto* option : verb->get_options()) {
    for (const auto& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

bool takes_command(const std::string& verb) { return verb == "launch" || verb == "import"; }

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
  cli_.set_version_flag("--version", build_line);
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

void Program::add_target(CLI::App& verb, const std::string& kind, const std::string& help) {
  verb.add_option("target", operands_, help)->type_name(kind);
}

std::vector<std::string> PlaceFlags::keys() const {
  std::vector<std::string> keys;
  if (!ranks.empty()) keys.push_back("parallel.ranks=" + ranks);
  if (!device.empty()) keys.push_back("parallel.device=" + device);
  if (!threads.empty()) keys.push_back("parallel.threads=" + threads);
  return keys;
}

std::optional<int64_t> PlaceFlags::threads_of_a_rank() const {
  if (threads.empty() || threads == "auto") return std::nullopt;
  int64_t count = 0;
  const auto [stop, problem] = std::from_chars(threads.data(), threads.data() + threads.size(), count);
  if (problem != std::errc() || stop != threads.data() + threads.size() || count < 1)
    fail(Exit::usage, text("--threads ", threads, " is no number of threads"), "say auto, or a count from 1");
  return count;
}

CLI::Validator at_least(int64_t least) {
  return {
      [least](const std::string& word) {
        int64_t number = 0;
        const auto [stop, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
        const bool is_one = problem == std::errc() && stop == word.data() + word.size() && number >= least;
        return is_one ? std::string() : text("has to be a whole number of at least ", least, "; got ", word);
      },
      ""};
}

void add_place_flags(CLI::App& verb, PlaceFlags& flags) {
  verb.add_option("--ranks", flags.ranks, "how many processes, auto, or a list of devices");
  verb.add_option("--device", flags.device, "auto, cpu or cuda");
  verb.add_option("--threads", flags.threads, "threads that a rank computes with, or auto");
}

void Program::add_config_flags(CLI::App& verb, WorkloadVerb kind) {
  verb.add_option("-c,--config", arguments_.configs,
                  "a config file (YAML or JSON), or the name of a shipped one")
      ->allow_extra_args(false);
  verb.add_option("--stage", arguments_.stage,
                  text("the stage of the workload; default its first",
                       kind.stages == WorkloadVerb::Stages::one ? "" : "; all: each in turn"));
  if (kind.place_is_config) add_place_flags(verb, arguments_.place);
}

Program::Action Program::for_stages(const Action& action, WorkloadVerb::Stages stages) {
  if (stages == WorkloadVerb::Stages::own) return action;
  return [this, action, stages] {
    if (!asks_for_every_stage(arguments_)) return action();
    const auto& all = workload(arguments_.target);
    if (stages == WorkloadVerb::Stages::each) return act_for_each_stage(*this, all, action);
    fail(Exit::usage, text(verb_name(named_verb(&cli_)), " takes one stage at a time"),
         text("name it: ", join(all.stages(), ", ")));
  };
}

CLI::App& Program::add_workload_verb(const std::string& name, const std::string& help, const Action& action,
                                     WorkloadVerb kind, CLI::App* parent) {
  auto& verb = add_verb(name, help, for_stages(action, kind.stages), parent);
  const std::string keys = kind.more_words.empty() ? "" : kind.more_words + " ";
  add_target(verb, "WORKLOAD " + keys + "key=value",
             text("WORKLOAD, then ", keys.empty() ? "" : keys + "… or ", "key=value …"));
  if (!kind.more_words.empty()) take_keys_.insert(&verb);
  add_config_flags(verb, kind);
  return verb;
}

CLI::App& Program::add_run_verb(const std::string& name, const std::string& help, Action action,
                                CLI::App* parent) {
  auto& verb = add_verb(name, help, std::move(action), parent);
  add_target(verb, "RUN", "a run folder, or the name of a run");
  return verb;
}

CLI::App& Program::add_workload_or_run_verb(const std::string& name, const std::string& help,
                                            const Action& action, WorkloadVerb kind) {
  auto& verb = add_verb(name, help, for_stages(action, kind.stages));
  add_target(verb, "WORKLOAD|RUN key=value", "WORKLOAD|RUN, then key=value …");
  add_config_flags(verb, kind);
  return verb;
}

void Program::refuse_flags(const std::vector<std::string>& words) const {
  const auto* const verb = named_verb(&cli_);
  refuse_unknown_flags(words, {.verb = verb_name(verb),
                               .flags = flags_of(verb),
                               .answers = foreign_flags(workloads_, operands_),
                               .help = help_hint(verb, "the flags")});
}

void Program::refuse_arguments(const std::vector<std::string>& words) const {
  refuse_flags(words);
  const auto* verb = named_verb(&cli_);
  const auto names = verbs_below(verb);
  const auto before = verb_name(verb);
  if (names.empty())
    fail(Exit::usage, text(before, " takes no ", join(words, " ")), help_hint(verb, "what it takes"));
  const auto near = words.empty() ? std::string() : nearest(words.front(), names);
  fail(Exit::usage, text("there is no verb ", before, before.empty() ? "" : " ", join(words, " ")),
       near.empty() ? help_hint(verb, "the verbs") : text("did you mean ", near, "?"));
}

int Program::run(std::vector<std::string> arguments) {
  words_ = arguments;
  int status = 0;
  try {
    status = parse_and_act(std::move(arguments));
  } catch (const std::exception&) {
    if (!lost_output_message().empty()) say("larmor: " + lost_output_message());
    throw;
  }
  if (loss_ == 0) return status;
  if (loss_ == EPIPE) return status == 0 ? reader_had_enough : status;
  if (status == 0)
    fail(Exit::environment, lost_output_message(),
         "the work is done: make room for its result, and ask again");
  say("larmor: " + lost_output_message());
  return status;
}

/// For a person who can still see it; empty where nothing was lost, or nobody was there to read it.
std::string Program::lost_output_message() const {
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
    // Help for a verb that is not there is no answer.
    const auto others = cli_.remaining(/*recurse=*/true);
    if (!others.empty() && !others.front().starts_with("-")) refuse_arguments(others);
    std::ostringstream help;
    const int status = cli_.exit(done, help, help);
    print(Lines().add_text(help.str()));
    return status;
  } catch (const CLI::ExtrasError&) {
    refuse_arguments(cli_.remaining(/*recurse=*/true));
  } catch (const CLI::ParseError& error) {
    // A flag that seems to be missing may have been mistyped.
    refuse_flags(cli_.remaining(/*recurse=*/true));
    fail(Exit::usage, error.what(), help_hint(named_verb(&cli_), "what it takes"));
  }
  return act();
}

int Program::act() {
  if (!arguments_.command.empty() && !takes_command(named_verb(&cli_)->get_name())) refuse_arguments({"--"});
  for (const auto& operand : operands_) {
    const bool assignment = operand.find('=') != std::string::npos && !is_workload(operand);
    if (assignment)
      arguments_.overrides.push_back(operand);
    else if (arguments_.target.empty())
      arguments_.target = operand;
    else if (take_keys_.contains(named_verb(&cli_)))
      arguments_.keys.push_back(operand);
    else
      refuse_second_target(arguments_.target, operand, workloads_);
  }
  for (const auto& key : arguments_.place.keys()) arguments_.overrides.push_back(key);
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
  for (const auto& one : workloads_) {
    if (one.name() == name) return one;
  }
  refuse_target(name, workloads_);
}

std::string Program::stage_of(const Workload& workload) const {
  return arguments_.stage.empty() ? workload.stages().front() : workload.named(arguments_.stage).name;
}

LoadedStage Program::load(const Workload& workload, bool is_draft) const {
  const auto stage = stage_of(workload);
  Sources sources;
  sources.files.push_back(find_config("default", workload.name(), stage));
  for (const auto& name : arguments_.configs)
    sources.files.push_back(find_config(name, workload.name(), stage));
  sources.shipped = count_shipped(sources.files);
  sources.environment = process_environment();
  sources.overrides = arguments_.overrides;
  sources.is_draft = is_draft;
  auto loaded = load_stage(sources, workload, stage, earlier_);
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
  const bool may_be_workload = named_verb(&cli_)->get_option_no_throw("--stage") != nullptr;
  const auto folder =
      find_run(target, RunSection{}.folder, may_be_workload ? target_names(workloads_) : TargetNames());
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

void Program::keep_shown(bool by_stage) {
  kept_ = std::make_unique<Kept>();
  kept_->by_stage = by_stage;
  kept_->all = by_stage ? Json::object() : Json::array();
}

void Program::drop_shown() { kept_.reset(); }

void Program::show_kept() {
  const auto kept = std::move(kept_);
  show(kept->all, kept->lines);
}

void Program::show(const Json& json, const Lines& lines) const {
  if (kept_) {
    if (kept_->by_stage) {
      kept_->all[arguments_.stage] = json;
      kept_->lines.add(text(kept_->lines.empty() ? "" : "\n", "stage ", arguments_.stage));
    } else {
      kept_->all.push_back(json);
    }
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
