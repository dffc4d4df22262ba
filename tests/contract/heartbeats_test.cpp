// What takes long within one micro-batch, one case or one batch of data is no hang, as long as its parts come
// to an end; a part that does not is one. In a whole session, whose board the test looks at from within.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/module.h>

#include "larmor/base/text.h"
#include "larmor/data/dataset_around.h"
#include "larmor/device/run_block.h"
#include "larmor/watch/hang_watch.h"
#include "larmor/watch/status_board.h"

#include "tests/contract/forwarding_stage.h"
#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

using ::testing::StartsWith;

/// The clock of the board.
double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of a part of the work, from within, just before its end.
struct Look {
  RankStatus status;
  double began = 0, asked = 0, ended = 0;
};

/// The board of a lone rank, and what the rank's threads have seen on it.
class Onlooker {
 public:
  Onlooker() { setenv("LARMOR_STATUS_FD", text(board.descriptor()).c_str(), 1); }
  ~Onlooker() { unsetenv("LARMOR_STATUS_FD"); }
  Onlooker(const Onlooker&) = delete;
  Onlooker& operator=(const Onlooker&) = delete;

  /// A part that takes a while. One thread.
  void work() {
    const double began = now();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const double asked = now();
    const auto status = board.status(0);
    looks[status.phase].push_back({status, began, asked, now()});
  }

  StatusBoard board{1};
  std::map<Phase, std::vector<Look>> looks;
};

std::optional<Hang> hang_with_limit(double seconds, const RankStatus& status) {
  HangLimits limits;
  limits.fixed = seconds;
  return HangWatch(limits).look({status});
}

/// `looks` of parts that followed on one another: a limit that a part keeps, and all of them together do not,
/// is kept.
void expect_that_only_a_part_can_hang(const std::vector<Look>& looks) {
  for (size_t i = 1; i < looks.size(); ++i) {
    const auto& [status, began, asked, ended] = looks[i];
    const double since_the_one_before = ended - looks[i - 1].ended;
    EXPECT_LT(since_the_one_before, ended - looks[0].began);
    EXPECT_FALSE(hang_with_limit(since_the_one_before, status)) << i;
    const auto hang = hang_with_limit((asked - began) / 2, status);
    ASSERT_TRUE(hang) << "a part that does not end shows nothing: " << i;
    EXPECT_THAT(hang->what, StartsWith("rank 0 hangs: no heartbeat for "));
  }
}

/// The same number, after a while, there and back.
struct SlowPassage : torch::autograd::Function<SlowPassage> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& value, int64_t who) {
    context->saved_data["who"] = who;
    context->save_for_backward({value});  // so that there is something to compute again
    reinterpret_cast<Onlooker*>(who)->work();
    return value.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    context->get_saved_variables();
    reinterpret_cast<Onlooker*>(context->saved_data["who"].toInt())->work();
    return {gradients.front(), at::Tensor()};
  }
};

struct SlowBlock final : torch::nn::Module {
  explicit SlowBlock(Onlooker& onlooker) : who(reinterpret_cast<int64_t>(&onlooker)) {}
  at::Tensor forward(const at::Tensor& value) const { return SlowPassage::apply(value, who); }
  int64_t who;
};

constexpr size_t blocks = 6;

at::Tensor through_slow_blocks(Onlooker& onlooker, at::Tensor value) {
  const auto block = std::make_shared<SlowBlock>(onlooker);
  for (size_t i = 0; i < blocks; ++i) value = nn::run_block(block, std::as_const(value));
  return value;
}

/// Another task whose losses, and whose validation of a case, go through slow blocks.
class SlowTask final : public ForwardingTask {
 public:
  SlowTask(std::unique_ptr<Task> inner, Onlooker& onlooker)
      : ForwardingTask(std::move(inner)), onlooker_(onlooker) {}

  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override {
    auto losses = ForwardingTask::losses(batch, context);
    losses.front() = through_slow_blocks(onlooker_, losses.front());
    return losses;
  }
  void validate(const Batch& batch, Metrics& metrics) override {
    ForwardingTask::validate(batch, metrics);
    onlooker_.looks[Phase::validating].clear();  // of the case before
    through_slow_blocks(onlooker_, at::ones({1}));
  }

 private:
  Onlooker& onlooker_;
};

/// Other cases, of which the first few come slowly while the rank waits for its first batch.
class SlowCases final : public DatasetAround {
 public:
  static constexpr int64_t few = 3;

  SlowCases(std::unique_ptr<Dataset> inner, Onlooker& onlooker)
      : DatasetAround(std::move(inner)), onlooker_(onlooker) {}
  Sample get(const ExampleKey& key) const override {
    if (++asked_ > few) return DatasetAround::get(key);
    while (onlooker_.board.phase(0) != Phase::waiting_for_data) std::this_thread::yield();
    auto sample = DatasetAround::get(key);
    onlooker_.work();
    return sample;
  }

 private:
  Onlooker& onlooker_;
  mutable std::atomic<int64_t> asked_ = 0;
};

class SlowStage final : public ForwardingStage {
 public:
  SlowStage(std::unique_ptr<const Stage> inner, Onlooker& onlooker)
      : ForwardingStage(std::move(inner)), onlooker_(onlooker) {}

  std::unique_ptr<Dataset> dataset(const RunConfig& config, const Index& index, Split split) const override {
    auto cases = ForwardingStage::dataset(config, index, split);
    if (split != Split::train) return cases;
    return std::make_unique<SlowCases>(std::move(cases), onlooker_);
  }
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override {
    return std::make_unique<SlowTask>(ForwardingStage::task(config, index), onlooker_);
  }

 private:
  Onlooker& onlooker_;
};

class SignsOfLife : public ::testing::TestWithParam<std::string> {};

TEST_P(SignsOfLife, TellALongStepALongCaseAndALongBatchOfDataFromAHang) {
  Onlooker onlooker;
  TrialRun run("latent_diffusion", {"train.length=1st", "optim.schedule.warmup=0", "train.validate_every=1st",
                                    "train.global_batch=4", "train.micro_batch=4", "data.workers=1",
                                    "train.activation_checkpointing=" + GetParam()});
  run.change_stage([&onlooker](std::unique_ptr<const Stage> stage) {
    return std::make_unique<SlowStage>(std::move(stage), onlooker);
  });
  run.train(1);
  const bool again = GetParam() != "none";
  const std::map<Phase, size_t> parts{{Phase::waiting_for_data, SlowCases::few},
                                      {Phase::computing, blocks * (again ? 3 : 2)},
                                      {Phase::validating, blocks}};
  EXPECT_EQ(onlooker.looks.size(), parts.size());
  for (const auto& [phase, count] : parts) {
    SCOPED_TRACE(to_text(phase));
    EXPECT_EQ(onlooker.looks[phase].size(), count);
    expect_that_only_a_part_can_hang(onlooker.looks[phase]);
  }
}

INSTANTIATE_TEST_SUITE_P(Recomputing, SignsOfLife, ::testing::Values("none", "blocks"),
                         [](const auto& chosen) { return chosen.param; });

}  // namespace
}  // namespace larmor::testing
