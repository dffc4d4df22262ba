// A run in a scratch folder, its ranks as threads of this process: prepared, trained and resumed through the
// same functions as the program's own.
#pragma once

#include <compare>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/device/tensors/tensor_file.h"
#include "larmor/task/workload.h"
#include "larmor/train/session.h"

#include "tests/support/rounding.h"

namespace larmor::testing {

struct StageName {
  std::string workload, stage;
  auto operator<=>(const StageName&) const = default;
};
/// How a test is told which stage it ran over.
void PrintTo(const StageName& stage, std::ostream* out);

class TrialRun {
 public:
  /// The stage's tiny config with `overrides` on top. What the stage needs is trained first.
  TrialRun(StageName stage, std::vector<std::string> overrides);
  /// Of the workload's first stage.
  TrialRun(const std::string& workload, std::vector<std::string> overrides);

  /// Trains (or resumes) with so many thread ranks; `until` is --steps, `more` are overrides for this time.
  SessionEnd train(int ranks, std::optional<int64_t> until = {}, const std::vector<std::string>& more = {});

  /// From now on ranks train what `change` makes of their stage.
  using Change = std::function<std::unique_ptr<const Stage>(std::unique_ptr<const Stage>)>;
  void change_stage(Change change) { change_ = std::move(change); }

  /// The next train() is asked to stop by that, as by a signal.
  void stop_when(StopAsked asked) { stop_asked_ = std::move(asked); }

  /// Each rank of the next train() computes with so many threads, in place of one.
  void compute_with(int threads) { threads_ = threads; }

  /// The next train() goes on from that checkpoint, as --resume PATH.
  void resume_at(std::filesystem::path checkpoint) { resume_at_ = std::move(checkpoint); }
  /// What people were told when the last train() was prepared.
  const std::vector<std::string>& notes() const { return notes_; }

  /// How each rank of the last train() failed; null where it did not.
  const std::vector<std::exception_ptr>& errors() const { return errors_; }

  RunFolder folder() const;
  /// The newest checkpoint's file.
  NamedTensors tensors(const std::string& file) const;
  /// SHA-256 of every file of the newest checkpoint but the manifest.
  std::map<std::string, std::string> hashes() const;
  /// The files of the newest checkpoint that hold networks.
  std::vector<std::string> weight_files() const;
  /// events.jsonl's "step" lines without what depends on the clock, superseded ones left out.
  std::vector<std::string> logged_steps() const;

 private:
  ScratchFolder scratch_;
  StageName stage_;
  std::vector<std::string> overrides_;
  Change change_ = [](std::unique_ptr<const Stage> stage) { return stage; };
  int threads_ = 1;
  StopAsked stop_asked_ = asked_by_signal;
  std::optional<std::filesystem::path> resume_at_;
  std::vector<std::string> notes_;
  std::vector<std::exception_ptr> errors_;
};

/// Names of all workloads of this build, and of the toy.
std::vector<std::string> workload_names();
/// Fails where there is none.
Workload workload_named(const std::string& name);

/// All stages of all workloads, the toy's among them.
std::vector<StageName> stage_names();
/// For INSTANTIATE_TEST_SUITE_P: workload_stage.
std::string name_of(const ::testing::TestParamInfo<StageName>& which);

/// The stage's default.yaml and tiny.yaml, and runs of the stages that it needs, which are trained when the
/// first test of a process asks for them.
Sources tiny_sources(const StageName& stage);
/// Of the workload's first stage.
Sources tiny_sources(const std::string& workload);

/// The words with others for the same keys.
std::vector<std::string> with_others(std::vector<std::string> words, const std::vector<std::string>& more);

/// The largest absolute difference over all tensors; the names have to agree.
double largest_difference(const NamedTensors& a, const NamedTensors& b);

/// Weights of one training: in float32, in float32 with volumes in the other order, and in float64. What lies
/// between is what float32 rounds. Of the two the nearer one counts: in the other rounding may have decided a
/// tie, in a ReLU or for a maximum, from where on it goes another way.
struct RoundedWeights {
  NamedTensors in_float32, in_other_layout, exact;

  double room() const;
};
/// Trains with `words` and more of them, thrice.
RoundedWeights rounded(const std::vector<std::string>& words,
                       const std::function<NamedTensors(const std::vector<std::string>&)>& trained);
/// `other` is of a training in float32 that adds in another order. It may go the way of either.
void expect_but_for_rounding(const NamedTensors& other, const RoundedWeights& weights,
                             const std::string& what);

}  // namespace larmor::testing
