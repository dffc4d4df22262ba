#include "tests/checkpoint/support/crash_scenario.h"

#include <thread>
#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/error.h"
#include "larmor/base/files/temporary_name.h"
#include "larmor/base/text.h"

namespace larmor::testing {

namespace fs = std::filesystem;

namespace {

constexpr const char* checkpoints_name = "run/checkpoints";

// Of steps 1, 2, …: step 2 is the best until step 5.
std::optional<double> metric_of(int64_t step) {
  constexpr double metrics[] = {0.6, 0.3, 0.5, 0.4, 0.2, 0.1};
  return metrics[static_cast<size_t>(step - 1) % std::size(metrics)];
}

CheckpointOptions keeping(int64_t keep_last, int64_t keep_best) {
  auto options = saved_at_once();
  options.keep_last = keep_last;
  options.keep_best = keep_best;
  return options;
}

// One save on each of `ranks` threads; committed ones are announced once more on a recording storage.
void save(Storage& storage, const fs::path& root, int64_t step, const CheckpointOptions& options, int ranks) {
  auto communicators = make_thread_ranks(ranks);
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(communicators.size());
  std::vector<char> committed(communicators.size());  // a byte each: bits of one would be shared by threads
  for (size_t rank = 0; rank < communicators.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        CheckpointWriter writer(root / checkpoints_name, storage, *communicators[rank], options);
        writer.save(small_snapshot(step, static_cast<int>(rank), metric_of(step)), false);
        for (const auto& outcome : writer.take_outcomes()) committed[rank] = outcome.committed;
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  if (auto* recorder = dynamic_cast<RecordingStorage*>(&storage);
      recorder != nullptr && committed.front() != 0)
    recorder->announce(step);
}

// Steps `first` … `last` are there for certain.
void begin(Scenario& scenario, const fs::path& root, int64_t first, int64_t last, int ranks) {
  DiskStorage disk;
  for (int64_t step = first; step <= last; ++step) save(disk, root, step, scenario.options, ranks);
  scenario.before = read_tree(root);
  scenario.announced = last;
}

Scenario recorded_saves(const CheckpointOptions& options, int ranks) {
  Scenario scenario{.options = options};
  const MemoryFolder root;
  begin(scenario, root.path(), 1, 3, ranks);
  RecordingStorage storage(root.path());
  for (const int64_t step : {4, 5}) save(storage, root.path(), step, options, ranks);
  scenario.recording = storage.recording();
  scenario.after = read_tree(root.path());
  return scenario;
}

// Every tensor file that the manifest lists, beside the state.
bool holds_all(const CheckpointEntry& entry) {
  const auto expected = small_snapshot(entry.step).files.begin()->second;
  for (const auto& file : entry.manifest.at("files")) {
    const auto name = file.at("name").get<std::string>();
    if (!name.ends_with(".safetensors")) continue;
    const auto tensors = read_checkpoint_file(entry, name);
    if (tensors.size() != expected.size()) return false;
    for (const auto& [key, tensor] : expected) {
      if (!tensors.at(key).equal(tensor)) return false;
    }
  }
  return read_checkpoint_state(entry).at("step") == entry.step;
}

}  // namespace

Scenario saves_of_one_rank() { return recorded_saves(keeping(2, 1), 1); }

Scenario saves_of_two_ranks() { return recorded_saves(keeping(2, 1), 2); }

Scenario saves_keeping_one() { return recorded_saves(keeping(1, 0), 1); }

Scenario first_saves() {
  Scenario scenario{.options = keeping(1, 1)};
  const MemoryFolder root;
  RecordingStorage storage(root.path());
  storage.create_folders(root.path() / "run");  // as a start does
  storage.create_folders(root.path() / checkpoints_name);
  for (const int64_t step : {1, 2}) save(storage, root.path(), step, scenario.options, 1);
  scenario.recording = storage.recording();
  scenario.after = read_tree(root.path());
  return scenario;
}

Scenario saves_over_damage() {
  Scenario scenario{.damaged = {3}, .options = keeping(2, 0)};
  const MemoryFolder root;
  begin(scenario, root.path(), 1, 3, 1);
  flip_bit(root.path() / checkpoints_name / "step-00000003" / "model.safetensors", 100, 3);
  scenario.before = read_tree(root.path());
  scenario.announced = 2;
  RecordingStorage storage(root.path());
  for (const int64_t step : {3, 4}) save(storage, root.path(), step, scenario.options, 1);
  scenario.recording = storage.recording();
  scenario.after = read_tree(root.path());
  return scenario;
}

Scenario saves_over_an_unrated_one() {
  Scenario scenario{.options = keeping(2, 1)};
  const MemoryFolder root;
  begin(scenario, root.path(), 1, 2, 1);
  DiskStorage disk;
  const auto solo = make_solo();
  const auto folder = root.path() / checkpoints_name;
  CheckpointWriter(folder, disk, *solo, scenario.options).save(small_snapshot(3), false);
  scenario.before = read_tree(root.path());
  scenario.announced = 3;
  scenario.options.resumed_from = verify_checkpoint(folder / "step-00000003");
  RecordingStorage storage(root.path());
  for (const int64_t step : {3, 4}) save(storage, root.path(), step, scenario.options, 1);
  scenario.recording = storage.recording();
  scenario.after = read_tree(root.path());
  return scenario;
}

Scenario save_after_kill(size_t operation) {
  Scenario scenario{.options = keeping(2, 1)};
  const MemoryFolder root;
  begin(scenario, root.path(), 1, 2, 1);
  RecordingStorage storage(root.path());
  storage.kill_before(operation);
  try {
    save(storage, root.path(), 3, scenario.options, 1);
    return scenario;
  } catch (const RecordingStorage::Killed&) {
    storage.restart();
  }
  scenario.options.generation = 1;
  const auto found = newest_good(root.path() / checkpoints_name, nullptr);
  renew_links(root.path() / checkpoints_name, storage, scenario.options.lower_is_better);
  auto options = scenario.options;
  options.resumed_from = found;
  for (const int64_t step : {3, 4}) save(storage, root.path(), step, options, 1);
  scenario.recording = storage.recording();
  scenario.after = read_tree(root.path());
  return scenario;
}

Scenario save_after_crash(const CrashState& state, const Scenario& crashed) {
  Scenario scenario{.before = state.tree, .announced = state.announced, .damaged = crashed.damaged};
  scenario.options = crashed.options;
  scenario.options.generation = crashed.options.generation + 1;
  const MemoryFolder root;
  write_tree(state.tree, root.path());
  RecordingStorage storage(root.path());
  storage.create_folders(root.path() / checkpoints_name);
  const auto found = newest_good(root.path() / checkpoints_name, nullptr);
  save(storage, root.path(), found ? found->step + 1 : 1, scenario.options, 1);
  scenario.recording = storage.recording();
  scenario.after = read_tree(root.path());
  return scenario;
}

Verdict CrashJudge::judge_found(const CrashState& state, int64_t& newest) const {
  std::optional<CheckpointEntry> found;
  try {
    found = newest_good(checkpoints(), nullptr);
  } catch (const Error& error) {
    // Those that were damaged before are no loss; all others have a name only when they are whole.
    return {state.announced < 0 ? Loss::name : Loss::commit, error.message()};
  }
  newest = found ? found->step : -1;
  if (newest < state.announced)
    return {Loss::commit, text("step ", state.announced, " was announced, the newest is ", newest)};
  if (found && !holds_all(*found)) return {Loss::commit, text("step ", newest, " holds something else")};
  for (const auto& entry : list_checkpoints(checkpoints(), /*verify=*/true)) {
    if (!entry.ok && !scenario_.damaged.contains(entry.step)) return {Loss::name, entry.reason};
  }
  return {};
}

Verdict CrashJudge::judge_recovery(int64_t newest) const {
  DiskStorage disk;
  const int64_t next = std::max<int64_t>(newest, 0) + 1;
  const auto solo = make_solo();
  disk.create_folders(checkpoints());
  renew_links(checkpoints(), disk, scenario_.options.lower_is_better);
  CheckpointWriter writer(checkpoints(), disk, *solo, scenario_.options);
  writer.save(small_snapshot(next, 0, metric_of(next)), false);
  const auto outcome = writer.take_outcomes().at(0);
  if (!outcome.committed) return {Loss::recovery, outcome.warning};
  const auto found = newest_good(checkpoints(), nullptr);
  if (!found || found->step != next || !holds_all(*found))
    return {Loss::recovery, text("step ", next, " was saved and is not what is found")};
  if (fs::read_symlink(checkpoints() / "last") != found->folder.filename())
    return {Loss::recovery, "last points elsewhere"};
  for (const auto& item : fs::directory_iterator(checkpoints())) {
    const auto name = item.path().filename().string();
    if (name.ends_with(".tmp") || name.starts_with(".trash-") || is_temporary_name(name))
      return {Loss::recovery, name + " was left behind"};
  }
  return {};
}

Verdict CrashJudge::judge(const CrashState& state) {
  write_tree(state.tree, folder_.path());
  int64_t newest = -1;
  auto verdict = judge_found(state, newest);
  if (verdict.loss != Loss::nothing) return verdict;
  try {
    return judge_recovery(newest);
  } catch (const Error& error) {
    return {Loss::recovery, error.message()};
  }
}

Findings search_states(const Scenario& scenario, const CrashSearch& search, size_t enough) {
  Findings findings;
  CrashJudge judge(scenario);
  const auto visit = [&](const CrashState& state) {
    const auto verdict = judge.judge(state);
    if (verdict.loss == Loss::nothing) return true;
    ++(verdict.loss == Loss::commit ? findings.lost
       : verdict.loss == Loss::name ? findings.names
                                    : findings.stuck);
    auto words = text("after ", state.operation, " operations: ", verdict.why);
    if (state.operation > 0) words += "; the last: " + words_for(scenario.recording[state.operation - 1]);
    for (const auto& [path, item] : state.tree) words += "\n  " + path;
    findings.first.push_back(words);
    return findings.first.size() < enough;
  };
  findings.states =
      visit_crash_states(scenario.before, scenario.announced, scenario.recording, search, visit);
  return findings;
}

}  // namespace larmor::testing
