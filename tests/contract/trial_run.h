// A run in a scratch folder, its ranks as threads of this process: prepared, trained and resumed through the
// same doors as the program's own.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/file.h"
#include "larmor/device/tensor_file.h"
#include "larmor/train/session.h"
#include "larmor/train/workload.h"

namespace larmor::testing {

class TrialRun {
 public:
  /// The workload's tiny config with `overrides` on top.
  TrialRun(std::string workload, std::vector<std::string> overrides);

  /// Trains (or resumes) with so many thread ranks; `until` is --steps, `more` are overrides for this time.
  SessionEnd train(int ranks, std::optional<int64_t> until = {}, const std::vector<std::string>& more = {});

  /// From now on ranks train what `change` makes of their stage.
  using Change = std::function<std::unique_ptr<const Stage>(std::unique_ptr<const Stage>)>;
  void change_stage(Change change) { change_ = std::move(change); }

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
  std::string workload_;
  std::vector<std::string> overrides_;
  Change change_ = [](std::unique_ptr<const Stage> stage) { return stage; };
  std::optional<std::filesystem::path> resume_at_;
  std::vector<std::string> notes_;
  std::vector<std::exception_ptr> errors_;
};

/// Names of all workloads of this build.
std::vector<std::string> workload_names();
/// Fails where there is none.
Workload workload_named(const std::string& name);

struct StageName {
  std::string workload, stage;
};
/// All stages of all workloads.
std::vector<StageName> stage_names();

/// The workload's default.yaml and tiny.yaml.
Sources tiny_sources(const std::string& workload);

/// The largest absolute difference over all tensors; the names have to agree.
double largest_difference(const NamedTensors& a, const NamedTensors& b);

}  // namespace larmor::testing
