// What every verb shares: the words on the command line, the workloads, and how results are shown.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"
#include "larmor/base/printable.h"
#include "larmor/run/loaded_stage.h"
#include "larmor/run/run_folder.h"
#include "larmor/task/workload.h"

namespace larmor::app {

/// Where ranks run, in the words of every verb that starts or plans any; empty: not said.
struct PlaceFlags {
  std::string ranks, device, threads;

  /// What was given, as keys of the section `parallel`.
  std::vector<std::string> keys() const;
  /// parallel.threads, for verbs whose flags are no keys. Throws Error (usage).
  std::optional<int64_t> threads_of_a_rank() const;
};
/// --ranks, --device, --threads.
void add_place_flags(CLI::App& verb, PlaceFlags& flags);

/// A check of a flag: a whole number that is not below `least`.
CLI::Validator at_least(int64_t least);

/// What a verb with a WORKLOAD makes of the flags that all of them take.
struct WorkloadVerb {
  /// What becomes of `--stage all`: `one` refuses it, `each` is called for each stage in turn
  /// (app/stage_chain.h), `own` sees to it itself.
  enum class Stages { one, each, own };
  Stages stages = Stages::one;
  /// --ranks, --device and --threads are keys of `parallel`; otherwise the verb adds them with a meaning of
  /// its own.
  bool place_is_config = true;
  /// What words behind the workload are, in the words of the verb's help: KEY; empty: there are none.
  std::string more_words = {};
};

/// The words after a verb, as far as verbs share them.
struct VerbArguments {
  std::string target;                  // a workload, a run folder or a run's name
  std::vector<std::string> configs;    // -c, in order
  std::vector<std::string> overrides;  // key=value
  std::vector<std::string> keys;       // words behind a workload, of the verbs that take them
  std::vector<std::string> command;    // after --
  std::string stage;
  PlaceFlags place;  // already among the overrides
  bool json = false, quiet = false, no_color = false;
};

/// How a verb ends whose stdout nobody reads any more, as a shell shows it of a program that SIGPIPE has
/// ended.
constexpr int reader_had_enough = 128 + SIGPIPE;

class Program {
 public:
  Program();

  CLI::App& cli() { return cli_; }
  /// The arguments, as they were given to run().
  const std::vector<std::string>& words() const { return words_; }
  VerbArguments& arguments() { return arguments_; }
  const VerbArguments& arguments() const { return arguments_; }

  using Action = std::function<int()>;  // gives the exit status
  /// A verb without target, below `parent` or at the top.
  CLI::App& add_verb(const std::string& name, const std::string& help, Action action,
                     CLI::App* parent = nullptr);
  /// A verb that takes WORKLOAD, -c, key=value, --stage, and the place of its ranks.
  CLI::App& add_workload_verb(const std::string& name, const std::string& help, const Action& action,
                              WorkloadVerb kind, CLI::App* parent = nullptr);
  /// A verb that takes RUN and key=value; -c and --stage are fixed by the run.
  CLI::App& add_run_verb(const std::string& name, const std::string& help, Action action,
                         CLI::App* parent = nullptr);
  /// A verb that takes either: run_folder() refuses the -c and --stage that do not fit the run.
  CLI::App& add_workload_or_run_verb(const std::string& name, const std::string& help, const Action& action,
                                     WorkloadVerb kind);
  /// What the verb is about, as `kind` and in the words of its help.
  void add_target(CLI::App& verb, const std::string& kind, const std::string& help);
  /// A name with verbs below it: `config show`.
  CLI::App& add_family(const std::string& name, const std::string& help);

  /// Parses and acts. Throws what verbs throw.
  int run(std::vector<std::string> arguments);

  const std::vector<Workload>& workloads() const { return workloads_; }
  /// Throws Error (usage) with the nearest name.
  const Workload& workload(const std::string& name) const;
  bool is_workload(const std::string& name) const;
  /// The name of the stage asked for, or of the workload's first. Throws Error (usage) with the names that
  /// there are.
  std::string stage_of(const Workload& workload) const;

  /// The stage asked for, with its config from default.yaml, -c, environment and overrides; checked.
  LoadedStage load(const Workload& workload) const { return load(workload, /*is_draft=*/false); }
  /// The same before the data are named: a value that a person has yet to give is no fault.
  LoadedStage load_to_show(const Workload& workload) const { return load(workload, /*is_draft=*/true); }
  /// What the stages that load() reads build on, in place of the runs that their config names; null: those.
  void build_on(std::shared_ptr<const EarlierRuns> earlier) { earlier_ = std::move(earlier); }
  /// The run that the target names. Throws Error (usage) for a -c, or for a stage that is not the run's.
  RunFolder run_folder() const;
  /// The storage of everything that verbs write; make_storage() when it is first asked for.
  Storage& storage();
  /// Throws Error (usage) when there are key=value words, for a verb that reads no config.
  void refuse_overrides() const;

  /// Shows the result: with --json one document on stdout; otherwise `lines`. run() ends with the status of
  /// the environment where stdout could not take it, once the verb's work is done.
  void show(const Json& json, const Lines& lines) const;
  /// The same of lines that are the result in any case; rank 0 has the launcher's stdout in place of its own.
  void print(const Lines& lines, int descriptor = 1) const;
  /// show() shows nothing from here on: show_kept() shows all of it, as one list, or as an object by stage.
  void keep_shown(bool by_stage = false);
  void show_kept();
  /// Instead: nothing of it is shown.
  void drop_shown();

 private:
  struct Kept {
    bool by_stage = false;
    Json all;
    Lines lines;
  };

  void add_config_flags(CLI::App& verb, WorkloadVerb kind);
  /// The action that does as `kind` says of `--stage all`.
  Action for_stages(const Action& action, WorkloadVerb::Stages stages);
  LoadedStage load(const Workload& workload, bool is_draft) const;
  /// Refuses those of the words that look like flags.
  void refuse_flags(const std::vector<std::string>& words) const;
  /// Refuses arguments that nothing took: a verb that is not there, or a target for a verb without one.
  [[noreturn]] void refuse_arguments(const std::vector<std::string>& words) const;
  int parse_and_act(std::vector<std::string> arguments);
  int act();
  std::string lost_output_message() const;

  CLI::App cli_;
  std::vector<std::string> words_;
  VerbArguments arguments_;
  std::vector<std::string> operands_;
  std::set<const CLI::App*> take_keys_;
  Action action_;
  std::vector<Workload> workloads_;
  std::shared_ptr<const EarlierRuns> earlier_;
  std::unique_ptr<Kept> kept_;  // null: shown at once
  std::unique_ptr<Storage> storage_;
  mutable int loss_ = 0;  // the errno with which stdout has refused a result
};

/// The config file that `-c name` means for a stage of a workload: a path, or one that ships with the
/// program.
std::filesystem::path find_config(const std::string& name, const std::string& workload,
                                  const std::string& stage);
/// What a config is for: the comment that it begins with.
std::string config_purpose(const std::filesystem::path& config);
/// How many of the configs, from the first on, lie beside that one, which is shipped.
std::size_t count_shipped(const std::vector<std::filesystem::path>& configs);
/// Names of the configs that ship for a stage of a workload.
std::vector<std::string> shipped_configs(const std::string& workload, const std::string& stage);

/// JSON has no NaN and no infinity: null.
Json number_or_null(double value);

void add_list(Program& program);
void add_init(Program& program);
void add_inspect(Program& program);
void add_doctor(Program& program);
void add_plan(Program& program);
void add_prepare(Program& program);
void add_train(Program& program);
void add_evaluate(Program& program);
void add_predict(Program& program);
void add_export(Program& program);
void add_checkpoint(Program& program);
void add_runs(Program& program);
void add_report(Program& program);
void add_sync(Program& program);
void add_compare(Program& program);
void add_config(Program& program);
void add_bench(Program& program);
void add_job(Program& program);
void add_launch(Program& program);
void add_completion(Program& program);
void add_bench_step(Program& program, CLI::App& family);
void add_bench_loader(Program& program, CLI::App& family);
void add_bench_collectives(Program& program, CLI::App& family);

}  // namespace larmor::app
