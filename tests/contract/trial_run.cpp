#include "tests/contract/trial_run.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <ostream>
#include <thread>
#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/run/run_setup.h"

#include "tests/toy/cases.h"
#include "tests/toy/workload.h"

namespace larmor::testing {

namespace {

std::filesystem::path source_folder() {
  const char* source = std::getenv("LARMOR_SOURCE");
  return source == nullptr ? std::filesystem::current_path() : std::filesystem::path(source);
}

std::filesystem::path configs_of(const StageName& stage) {
  const auto shipped = source_folder() / "workloads" / stage.workload / stage.stage / "configs";
  return std::filesystem::exists(shipped) ? shipped
                                          : source_folder() / "tests" / "toy" / stage.stage / "configs";
}

/// What the runs of this process prepare of the same data they prepare once; nothing is put into the user's
/// own cache.
const std::filesystem::path& prepared_cache() {
  static const ScratchFolder scratch;
  return scratch.path();
}

/// Workloads of the program, and the toy.
std::vector<Workload> all_workloads() {
  auto all = make_workloads();
  all.push_back(toy::make_workload());
  return all;
}

/// The folder of a run of the stage, trained for a few steps when it is first asked for.
std::filesystem::path trained_run_of(const StageName& stage) {
  static std::map<std::string, std::unique_ptr<TrialRun>> runs;
  static std::recursive_mutex mutex;  // a stage's run may need those of stages before it
  const std::lock_guard lock(mutex);
  auto& run = runs[text(stage.workload, "/", stage.stage)];
  if (!run) {
    auto made = std::make_unique<TrialRun>(
        stage, std::vector<std::string>{"train.length=6st", "optim.schedule.warmup=0",
                                        "train.validate_every=3st", "checkpoint.every=3st"});
    made->train(1);
    run = std::move(made);
  }
  return run->folder().root;
}

}  // namespace

TrialRun::TrialRun(const std::string& workload, std::vector<std::string> overrides)
    : TrialRun(StageName{workload, workload_named(workload).stages().front()}, std::move(overrides)) {}

TrialRun::TrialRun(StageName stage, std::vector<std::string> overrides)
    : stage_(std::move(stage)), overrides_(std::move(overrides)) {
  overrides_.push_back("run.folder=" + scratch_.path().string());
  overrides_.emplace_back("run.name=trial");
  const std::string cache = "data.cache_folder=";
  const auto names_cache = [&](const std::string& word) { return word.starts_with(cache); };
  if (std::ranges::none_of(overrides_, names_cache)) overrides_.push_back(cache + prepared_cache().string());
}

RunFolder TrialRun::folder() const { return {scratch_.path() / "trial"}; }

SessionEnd TrialRun::train(int ranks, std::optional<int64_t> until, const std::vector<std::string>& more) {
  const auto workload = workload_named(stage_.workload);
  auto sources = tiny_sources(stage_);
  const auto overlay = configs_of(stage_).parent_path() / "contract.yaml";
  if (std::filesystem::exists(overlay)) sources.files.push_back(overlay);
  const auto named =
      stage_.workload == "toy" ? toy::contract_overrides(stage_.stage) : std::vector<std::string>();
  for (const auto& words : {named, overrides_, more})
    sources.overrides.insert(sources.overrides.end(), words.begin(), words.end());
  sources.overrides.push_back(text("parallel.ranks=", ranks));
  auto asked = load_stage(sources, workload, stage_.stage);
  asked.stage->check(asked.config.config);

  DiskStorage storage;
  const SystemClock clock;
  StartOptions start;
  if (resume_at_) start.resume = {.kind = ResumeChoice::Kind::path, .path = *resume_at_};
  resume_at_.reset();
  auto prepared = prepare_run(workload, std::move(asked), std::nullopt, std::move(start), storage, clock);
  notes_ = prepared.notes;
  // Ranks and tests share the cores. In oneDNN's convolutions a thread spins while it waits for one that has
  // no core, which took half of the suite's processor time.
  prepared.plan.threads_per_rank = threads_;
  auto loaded = load_run_stage(prepared.folder, workload);
  loaded.stage = change_(std::move(loaded.stage));
  SessionOptions options;
  options.folder = prepared.folder;
  options.step_limit = until;
  options.stop_asked = std::exchange(stop_asked_, asked_by_signal);
  if (prepared.resume_from) options.resume_from = prepared.resume_from->folder;

  auto communicators = ranks == 1 ? std::vector<std::unique_ptr<Communicator>>{} : make_thread_ranks(ranks);
  if (ranks == 1) communicators.push_back(make_solo());
  std::vector<SessionEnd> ends(static_cast<size_t>(ranks));
  errors_.assign(static_cast<size_t>(ranks), nullptr);
  std::vector<std::thread> threads;
  for (int index = 0; index < ranks; ++index) {
    threads.emplace_back([&, index] {
      const auto place = static_cast<size_t>(index);
      try {
        Rank rank;
        rank.index = rank.local_index = index;
        rank.count = rank.local_count = ranks;
        rank.generation = prepared.generation;
        ends[place] = run_session(loaded, prepared.plan, prepared.index, rank,
                                  std::move(communicators[place]), options);
      } catch (...) {
        errors_[place] = std::current_exception();
        communicators[place].reset();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors_) {
    if (error) std::rethrow_exception(error);
  }
  return ends.front();
}

NamedTensors TrialRun::tensors(const std::string& file) const {
  return read_checkpoint_file(newest_good(folder().checkpoints(), nullptr).value(), file);
}

std::vector<std::string> TrialRun::weight_files() const {
  std::vector<std::string> names;
  const auto entry = newest_good(folder().checkpoints(), nullptr).value();
  for (const auto& file : entry.manifest.at("files")) {
    const auto name = file.at("name").get<std::string>();
    if (name.starts_with("model")) names.push_back(name);
  }
  return names;
}

std::map<std::string, std::string> TrialRun::hashes() const {
  const auto entry = newest_good(folder().checkpoints(), nullptr).value();
  std::map<std::string, std::string> hashes;
  for (const auto& file : entry.manifest.at("files")) {
    auto hash = file.at("sha256").get<std::string>();
    const auto name = file.at("name").get<std::string>();
    if (name == "state.json") {
      // Seconds spent are the one thing that two equal runs do not share.
      auto state = read_checkpoint_state(entry);
      state["trainer"].erase("elapsed_seconds");
      hash = state.dump();
    }
    hashes[name] = hash;
  }
  return hashes;
}

std::vector<std::string> TrialRun::logged_steps() const {
  std::map<int64_t, std::string> by_step;  // a later generation's line replaces an earlier one's
  std::ifstream file(folder().events());
  for (std::string line; std::getline(file, line);) {
    const auto event = parse_json(line, "events.jsonl");
    if (event.at("kind") != "step") continue;
    Json kept;
    for (const auto& [name, value] : event.at("values").items()) {
      if (!name.starts_with("perf/") && !name.starts_with("mem/")) kept[name] = value;
    }
    by_step[event.at("step").get<int64_t>()] =
        text(event.at("step").dump(), " ", event.at("examples").dump(), " ", kept.dump());
  }
  std::vector<std::string> lines;
  for (auto& [step, line] : by_step) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  for (const auto& workload : all_workloads()) names.push_back(workload.name());
  return names;
}

Workload workload_named(const std::string& name) {
  for (const auto& workload : all_workloads()) {
    if (workload.name() == name) return workload;
  }
  fail(Exit::unexpected, "no workload " + name);
}

void PrintTo(const StageName& stage, std::ostream* out) { *out << stage.workload << "/" << stage.stage; }

std::vector<StageName> stage_names() {
  std::vector<StageName> names;
  for (const auto& workload : all_workloads()) {
    for (const auto& stage : workload.stages()) names.push_back({workload.name(), stage});
  }
  return names;
}

std::string name_of(const ::testing::TestParamInfo<StageName>& which) {
  return which.param.workload + "_" + which.param.stage;
}

Sources tiny_sources(const std::string& workload) {
  return tiny_sources(StageName{workload, workload_named(workload).stages().front()});
}

Sources tiny_sources(const StageName& stage) {
  const auto configs = configs_of(stage);
  Sources sources;
  sources.files = {configs / "default.yaml", configs / "tiny.yaml"};
  const auto workload = workload_named(stage.workload);
  for (const auto& need : workload.named(stage.stage).needs) {
    const auto run = trained_run_of({stage.workload, need.stage});
    sources.overrides.push_back(text("from.", need.stage, "=", run.string()));
  }
  return sources;
}

std::vector<std::string> with_others(std::vector<std::string> words, const std::vector<std::string>& more) {
  for (const auto& word : more) {
    const auto key = word.substr(0, word.find('=') + 1);
    std::erase_if(words, [&key](const std::string& known) { return known.starts_with(key); });
    words.push_back(word);
  }
  return words;
}

double largest_difference(const NamedTensors& a, const NamedTensors& b) {
  if (a.size() != b.size()) fail(Exit::unexpected, "not the same tensors");
  double largest = 0;
  for (const auto& [name, tensor] : a) {
    largest =
        std::max(largest, (tensor.to(at::kDouble) - b.at(name).to(at::kDouble)).abs().max().item<double>());
  }
  return largest;
}

double RoundedWeights::room() const {
  return rounding_room *
         std::min(largest_difference(in_float32, exact), largest_difference(in_other_layout, exact));
}

RoundedWeights rounded(const std::vector<std::string>& words,
                       const std::function<NamedTensors(const std::vector<std::string>&)>& trained) {
  return {.in_float32 = trained(words),
          .in_other_layout = trained(with_others(words, {"train.layout=contiguous"})),
          .exact = trained(with_others(words, {"train.precision=fp64"}))};
}

void expect_but_for_rounding(const NamedTensors& other, const RoundedWeights& weights,
                             const std::string& what) {
  EXPECT_GT(weights.room(), 0) << "float64 is float32: nothing is compared";
  EXPECT_LE(std::min(largest_difference(other, weights.in_float32), largest_difference(other, weights.exact)),
            weights.room())
      << what;
}

}  // namespace larmor::testing
