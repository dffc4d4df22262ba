// A loop over eight numbers and a network of one weight, whose steps a test knows by hand: y = w x, the loss
// is the mean of (w x - 1)^2, and the step is plain gradient descent.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <torch/nn/modules/linear.h>

#include "larmor/base/files/file.h"
#include "larmor/launch/fault_point.h"
#include "larmor/train/loop.h"

namespace larmor::testing {

/// Example i is the number i + 1.
class EightNumbers final : public Dataset {
 public:
  int64_t size() const override { return 8; }
  Sample get(const ExampleKey& key) const override;
  std::string name(int64_t example) const override { return "n" + std::to_string(example + 1); }

  std::set<int64_t> unreadable;  // examples
};

/// What a test changes of it, by functions that may throw.
class OneWeight final : public Task {
 public:
  OneWeight();
  std::vector<Objective> objectives() override { return {{"line", network.get()}}; }
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override;
  void prepare(const EachBatch& first, const StepContext& context) override;
  int64_t counted() const override { return counts_examples ? 1 : 0; }
  at::Tensor counts(const Batch& batch) override;
  void validate(const Batch& batch, Metrics& metrics) override;

  double weight() const { return network->weight.item<double>(); }

  torch::nn::Linear network;
  std::vector<std::vector<int64_t>> seen;  // the examples of each batch that losses() or prepare() was given
  std::function<void(const Batch&)> before_losses = [](const Batch&) {};
  std::function<double(double loss)> judged = [](double loss) { return loss; };
  bool counts_examples = false;
};

/// Events as they come, "kind: words" and their values.
class HeardEvents final : public Tracker {
 public:
  void event(const Moment& moment, std::string_view kind, const Values& values,
             std::string_view words) override;
  void picture(const Moment&, std::string_view, const Picture&) override {}
  void flush() override {}
  std::vector<std::string> of(const std::string& kind) const;

  std::vector<std::pair<std::string, std::string>> events;
  std::map<std::string, Values> last;  // by kind
};

struct SmallLoopOptions {
  int64_t global_batch = 4, micro_batch = 2;
  std::function<void(RunConfig&)> change = [](RunConfig&) {};
  TrainerState state = {};
};

/// One rank's; its parts live as long as it does. Double precision, learning rate 0.01, the weight begins at
/// 0.
struct SmallLoop {
  explicit SmallLoop(Communicator& communicator, const SmallLoopOptions& options = {});

  /// The weight after a step over these numbers from `weight`.
  static double after_step(double weight, const std::vector<int64_t>& examples);
  /// The examples of the step that comes after so many.
  std::vector<int64_t> examples_of_step(int64_t step) const;

  const ScratchFolder scratch;
  DiskStorage disk;
  ManualClock clock;
  EightNumbers training, validation;
  OneWeight task;
  HeardEvents heard;
  std::string stop_words;  // what asks this rank to stop
  RunConfig config;
  Plan plan;
  Timetable timetable;
  StatusBoard board;
  FaultPoint faults;
  CheckpointWriter checkpoints;
  Quarantine quarantine;
  std::vector<Learner> learners;
  TrainerParts parts;
  Loop loop;
};

}  // namespace larmor::testing
