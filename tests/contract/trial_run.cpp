#include "tests/contract/trial_run.h"

#include <cstdlib>
#include <exception>
#include <fstream>
#include <thread>

#include <ATen/ATen.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/train/run_setup.h"

namespace larmor::testing {

namespace {

std::filesystem::path source_folder() {
  const char* source = std::getenv("LARMOR_SOURCE");
  return source == nullptr ? std::filesystem::current_path() : std::filesystem::path(source);
}

}  // namespace

TrialRun::TrialRun(std::string workload, std::vector<std::string> overrides)
    : workload_(std::move(workload)), overrides_(std::move(overrides)) {
  overrides_.push_back("run.folder=" + scratch_.path().string());
  overrides_.emplace_back("run.name=trial");
}

RunFolder TrialRun::folder() const { return {scratch_.path() / "trial"}; }

SessionEnd TrialRun::train(int ranks, std::optional<int64_t> until, const std::vector<std::string>& more) {
  const auto workload = workload_named(workload_);
  auto sources = tiny_sources(workload_);
  const auto overlay = source_folder() / "tests" / "contract" / (workload_ + ".yaml");
  if (std::filesystem::exists(overlay)) sources.files.push_back(overlay);
  sources.overrides = overrides_;
  sources.overrides.insert(sources.overrides.end(), more.begin(), more.end());
  sources.overrides.push_back(text("parallel.ranks=", ranks));
  auto asked = load_stage(sources, workload, workload.stages().front());
  asked.stage->check(asked.config.config);

  DiskStorage storage;
  const SystemClock clock;
  StartOptions start;
  if (resume_at_) start.resume = {.kind = ResumeChoice::Kind::path, .path = *resume_at_};
  resume_at_.reset();
  auto prepared = prepare_run(workload, std::move(asked), std::nullopt, std::move(start), storage, clock);
  notes_ = prepared.notes;
  auto loaded = load_run_stage(prepared.folder, workload);
  loaded.stage = change_(std::move(loaded.stage));
  SessionOptions options;
  options.folder = prepared.folder;
  options.step_limit = until;
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
  for (const auto& workload : make_workloads()) names.push_back(workload.name());
  return names;
}

Workload workload_named(const std::string& name) {
  for (const auto& workload : make_workloads()) {
    if (workload.name() == name) return workload;
  }
  fail(Exit::unexpected, "no workload " + name);
}

std::vector<StageName> stage_names() {
  std::vector<StageName> names;
  for (const auto& workload : make_workloads()) {
    for (const auto& stage : workload.stages()) names.push_back({workload.name(), stage});
  }
  return names;
}

Sources tiny_sources(const std::string& workload) {
  const auto configs = source_folder() / "workloads" / workload / "configs";
  Sources sources;
  sources.files = {configs / "default.yaml", configs / "tiny.yaml"};
  return sources;
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

}  // namespace larmor::testing
