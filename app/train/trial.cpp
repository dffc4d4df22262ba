#include "app/train/trial.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <utility>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/run/data_block.h"
#include "larmor/run/earlier/begun_run.h"
#include "larmor/run/run_index.h"
#include "larmor/task/prepare_context.h"

#include "app/say.h"
#include "app/stage_chain.h"
#include "app/train/step_record.h"
#include "app/train/trial_words.h"

namespace larmor::app {

namespace fs = std::filesystem;

namespace {

constexpr int64_t least_cases = 3;

void refuse_words(const Program& program, const TrainFlags& flags) {
  const auto& asked = program.arguments();
  const auto refuse = [](const std::string& what, const std::string& remedy) {
    fail(Exit::usage, text("--try and ", what, " do not go together"), remedy);
  };
  if (asks_for_every_stage(asked))
    refuse("--stage all", "try one stage at a time: a later one builds on a run that a trial does not leave");
  if (flags.dry_run || flags.steps || flags.resume != "auto" || flags.cases)
    refuse("--dry-run, --steps, --cases or --resume", "a trial has steps, cases and a resume of its own");
  if (!flags.agents.nodes.empty() || given_rank(flags.agents))
    refuse("several hosts or another launcher", "try on one host, with --ranks");
  if (!asked.target.empty() && !program.is_workload(asked.target))
    refuse("a run", "a run is tried before it is begun: name its workload and its config");
}

/// What the second start and the files of the run have shown.
struct Measured {
  double step_seconds = 0, validation_seconds = 0, save_seconds = 0, peak_gib = 0;
  uint64_t checkpoint_bytes = 0;
};

std::vector<Json> events_of(const fs::path& run) {
  std::vector<Json> events;
  std::ifstream file(run / "events.jsonl");
  for (std::string line; std::getline(file, line);)
    if (Json::accept(line)) events.push_back(parse_json(line, "events.jsonl"));
  return events;
}

/// Of the events of a generation. Steps of a start before `first_steps` are over do not count.
Measured measured_in(const std::vector<Json>& events, int64_t generation) {
  Measured found;
  std::vector<double> ends;
  for (const auto& event : events) {
    if (event.at("generation") != generation) continue;
    const auto kind = event.at("kind").get<std::string>();
    const auto& values = event.at("values");
    const double at = event.at("t").get<double>();
    if (kind == "step") {
      ends.push_back(at);
      found.peak_gib = std::max(found.peak_gib, values.value("mem/peak_gib", 0.0));
    } else if (kind == "validation" && !ends.empty()) {
      found.validation_seconds = at - ends.back();
    } else if (kind == "checkpoint") {
      found.save_seconds = values.value("perf/save_seconds", 0.0);
    }
  }
  const auto counted = std::ssize(ends) - first_steps;
  if (counted > 0) found.step_seconds = (ends.back() - ends[first_steps - 1]) / static_cast<double>(counted);
  return found;
}

/// How often in a run of so many steps something is due that many times.
double times_due(const Length& every, double steps, double steps_of_epoch, double step_seconds) {
  if (every.amount <= 0) return 0;
  if (every.unit == Length::Unit::steps) return std::floor(steps / every.amount);
  if (every.unit == Length::Unit::epochs) return std::floor(steps / (every.amount * steps_of_epoch));
  return std::floor(steps * step_seconds / every.amount);
}

class Trial {
 public:
  Trial(const Program& program, LoadedStage loaded) : program_(program), loaded_(std::move(loaded)) {}

  int run();

 private:
  const RunConfig& config() const { return loaded_.config.config; }
  void passed(const std::string& phase, double seconds) {
    json_["phases"].push_back({{"phase", phase}, {"seconds", seconds}});
    if (!program_.arguments().quiet)
      say(text("  ", phase, std::string(10 - phase.size(), ' '), fixed(seconds, 1), " s"));
  }
  /// The folder stays, for a person to look at.
  void keep() { static_cast<void>(scratch_.release()); }
  /// The seconds that it took; `phase` is what a failure is called by.
  template <class Work>
  double timed(const std::string& phase, const Work& work) {
    phase_ = phase;
    const double start = clock_.steady_seconds();
    work();
    return clock_.steady_seconds() - start;
  }
  /// A call of the program in this process. Throws Ended where its status is not 0.
  void call(const std::vector<std::string>& words, void (*add)(Program&)) const;
  void all_phases();
  void train_twice(int64_t cases);
  int64_t cases_for_a_batch() const;
  void foretell(const Measured& measured);

  struct Ended {
    int status;
  };

  const Program& program_;
  LoadedStage loaded_;
  SystemClock clock_;
  std::unique_ptr<ScratchFolder> scratch_ = std::make_unique<ScratchFolder>();
  const fs::path place_ = scratch_->path(), folder_ = place_ / "try";
  std::string phase_;
  RunDraft draft_;
  Index few_;
  Json json_ = {{"phases", Json::array()}};
  Lines lines_;
};

void Trial::call(const std::vector<std::string>& words, void (*add)(Program&)) const {
  Program inner;
  add(inner);
  inner.keep_shown();
  if (const int status = inner.run(words); status != 0) throw Ended{status};
}

/// As many as a batch needs examples of.
int64_t Trial::cases_for_a_batch() const {
  const auto cases = std::max<int64_t>(1, std::ssize(draft_.index.of(Split::train)));
  const double of_a_case =
      std::max(1.0, static_cast<double>(draft_.demand.training_examples) / static_cast<double>(cases));
  const auto needed = std::ceil(static_cast<double>(draft_.plan.global_batch) / of_a_case);
  return std::max(least_cases, static_cast<int64_t>(needed));
}

void Trial::train_twice(int64_t cases) {
  // One start of the program: which of them a failure is of, its own words say.
  phase_ = "steps, validate, save";
  const double start = clock_.wall_seconds();
  call(arguments_of_first_start(program_.arguments(), config(), draft_, cases, place_), add_train);
  const auto events = events_of(folder_);
  const auto first = measured_in(events, 0);
  double last_step = start, before = start;
  for (const auto& event : events) {
    if (event.at("kind") != "step") continue;
    before = std::exchange(last_step, event.at("t").get<double>());
  }
  passed("steps", last_step - start);
  passed("validate", first.validation_seconds);
  passed("save", first.save_seconds);
  constexpr double budget_seconds = 15;
  constexpr double least_steps = 4, most_steps = 100;
  const auto more = std::clamp(budget_seconds / std::max(last_step - before, 1e-3), least_steps, most_steps);
  passed("resume", timed("resume", [&] {
           call(arguments_of_second_start(folder_, 2 * first_steps + static_cast<int64_t>(more)), add_train);
         }));
}

void Trial::all_phases() {
  passed("index", timed("index", [&] { draft_.index = loaded_.stage->index(config()); }));
  passed("plan", timed("plan", [&] {
           check_begun(program_.workload(config().workload), loaded_, draft_.index);
           draft_ = draft_run(loaded_, draft_.index, {});
         }));
  const auto cases = cases_for_a_batch();
  few_ = draft_.index;
  keep_few(few_, cases);
  passed("prepare", timed("prepare", [&] {
           auto here = config();
           here.data.cache_folder = (place_ / "prepared").string();
           const auto storage = make_storage();
           PrepareContext own{.storage = *storage, .cores = draft_.hardware.usable_cores()};
           loaded_.stage->prepare(here, few_, own);
         }));
  train_twice(cases);
  const auto form = loaded_.stage->prediction(config());
  passed("predict", timed("predict", [&] {
           const auto storage = make_storage();
           call(arguments_of_prediction(folder_, form, few_, *storage, place_), add_predict);
         }));
}

/// From what was measured to the whole run.
void Trial::foretell(const Measured& measured) {
  const auto work = work_of_run(config(), draft_.demand, draft_.plan);
  const auto& plan = draft_.plan;
  const double epoch =
      static_cast<double>(draft_.demand.training_examples) / static_cast<double>(plan.global_batch);
  const double by_length = config().train.length.amount;
  const double steps = work.steps ? static_cast<double>(*work.steps) : by_length / measured.step_seconds;
  const auto judged = [](const Index& index) { return static_cast<double>(index.of(Split::val).size()); };
  const double validation = measured.validation_seconds * judged(draft_.index) / std::max(1.0, judged(few_));
  const double validations = times_due(config().train.validate_every, steps, epoch, measured.step_seconds);
  const double seconds = work.steps ? steps * measured.step_seconds + validations * validation : by_length;
  const auto kept = static_cast<uint64_t>(config().checkpoint.keep_last + config().checkpoint.keep_best);
  const uint64_t cache = config().data.cache == "full"
                             ? bytes_freed_by(place_ / "prepared") * draft_.index.cases.size() /
                                   std::max<std::size_t>(1, few_.cases.size())
                             : 0;
  json_["step_ms"] = measured.step_seconds * 1e3;
  json_["validation_seconds"] = validation;
  json_["steps"] = std::llround(steps);
  json_["seconds"] = seconds;
  json_["peak_gib"] = measured.peak_gib;
  json_["bytes"] = {{"checkpoints", measured.checkpoint_bytes * kept}, {"cache", cache}};
  lines_.add(text("the whole run: about ", human_seconds(seconds), work.steps ? "" : " (train.length)", ": ",
                  std::llround(steps), " steps of ", fixed(measured.step_seconds * 1e3, 1), " ms, ",
                  std::llround(validations), " validations of ", fixed(validation, 1), " s"));
  lines_.add(text("  memory: ", fixed(measured.peak_gib, 2), " GiB a rank, its process included, ",
                  human_bytes(static_cast<uint64_t>(plan.memory.total())), " planned, on ", plan.world_size(),
                  plan.world_size() == 1 ? " rank" : " ranks"));
  lines_.add(text("  disk: ", human_bytes(measured.checkpoint_bytes * kept), " of checkpoints",
                  cache > 0 ? text(", ", human_bytes(cache), " of prepared images") : std::string()));
}

int Trial::run() {
  if (!program_.arguments().quiet) say("trying " + config().workload + " " + config().stage);
  const double start = clock_.steady_seconds();
  try {
    all_phases();
  } catch (const Ended& ended) {
    say(text("the trial ended in the phase ", phase_, "; its run is kept in ", folder_.string()));
    keep();
    return ended.status;
  } catch (const Error& error) {
    if (fs::exists(folder_)) keep();
    throw error.within(
        text("trial, phase ", phase_, fs::exists(folder_) ? " (run kept in " + folder_.string() + ")" : ""));
  }
  auto measured = measured_in(events_of(folder_), 1);
  if (const auto newest = newest_committed({folder_}))
    measured.checkpoint_bytes = bytes_freed_by(newest->folder);
  foretell(measured);
  json_["trial_seconds"] = clock_.steady_seconds() - start;
  keep_step(loaded_.config, draft_.plan, measured.step_seconds * 1e3);
  program_.show(json_, lines_);
  return 0;
}

}  // namespace

int try_training(const Program& program, const TrainFlags& flags) {
  refuse_words(program, flags);
  return Trial(program, program.load(program.workload(program.arguments().target))).run();
}

}  // namespace larmor::app
