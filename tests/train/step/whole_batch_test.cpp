#include "larmor/train/step/whole_batch.h"

#include <array>
#include <map>
#include <thread>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include "larmor/device/draw_position.h"
#include "larmor/kernels/draw/draw.h"

namespace larmor::testing {
namespace {

constexpr int64_t examples = 8, features = 5;

/// Log of the sum of the exponentials of all rows, which knows no mean; the rows depend on draws of the
/// examples.
class LogSumExp final : public WholeBatchLoss {
 public:
  explicit LogSumExp(torch::nn::Sequential network) : network_(std::move(network)) {}
  at::Tensor rows(const Batch& batch, const StepContext&) override {
    const at::Tensor& input = batch.at("image");
    return network_->forward(input + 0.1 * draw_normal_like(input, "jitter")).squeeze(1);
  }
  at::Tensor targets(const Batch& batch) override { return batch.at("time"); }
  at::Tensor loss(const at::Tensor& rows, const at::Tensor& targets, const StepContext&) override {
    seen = rows.size(0);
    return (rows * targets).sum() - rows.logsumexp(0);
  }
  int64_t seen = 0;

 private:
  torch::nn::Sequential network_;
};

torch::nn::Sequential network(bool with_batch_norm = false) {
  torch::nn::Sequential layers(torch::nn::Linear(features, 4));
  if (with_batch_norm) layers->push_back(torch::nn::BatchNorm1d(4));
  layers->push_back(torch::nn::Linear(4, 1));
  layers->to(at::kDouble);
  layers->train();
  int64_t number = 0;
  for (auto& parameter : layers->parameters()) {
    at::NoGradGuard no_gradients;
    parameter.copy_(draw_normal(7, "weights" + std::to_string(number++), parameter.sizes()));
  }
  return layers;
}

Batch batch_of(int64_t first, int64_t count) {
  Batch batch;
  batch.tensors["image"] =
      draw_normal(7, "image", {examples, features}).to(at::kDouble).narrow(0, first, count);
  batch.tensors["time"] = draw_normal(7, "time", {examples}).to(at::kDouble).narrow(0, first, count);
  for (int64_t i = first; i < first + count; ++i) batch.keys.push_back({.seed = 7, .epoch = 0, .example = i});
  return batch;
}

/// The gradients of one rank's share of the examples, and what the loss was.
struct WholeBatchOutcome {
  double loss = 0;
  std::vector<at::Tensor> gradients, buffers;
};

WholeBatchOutcome run_rank(Communicator& communicator, int64_t accumulation, bool with_batch_norm = false) {
  auto net = network(with_batch_norm);
  LogSumExp loss(net);
  WholeBatch whole(loss, *net, {.accumulation = accumulation, .pass = {.precision = Precision::fp64}});
  const int64_t each = examples / communicator.size() / accumulation;
  for (int64_t micro = 0; micro < accumulation; ++micro)
    whole.forward(batch_of((communicator.rank() * accumulation + micro) * each, each), {});
  EXPECT_TRUE(whole.gather(true, {}, communicator, communicator));
  EXPECT_EQ(loss.seen, examples);
  for (int64_t micro = 0; micro < accumulation; ++micro) whole.share_of(micro, {}).backward();
  WholeBatchOutcome outcome{.loss = whole.loss().item<double>(), .gradients = {}, .buffers = {}};
  for (const auto& parameter : net->parameters()) {
    at::Tensor gradient = parameter.grad().clone();
    communicator.all_reduce(gradient, Reduce::mean).wait();  // as data parallelism does
    outcome.gradients.push_back(gradient);
  }
  for (const auto& buffer : net->buffers()) outcome.buffers.push_back(buffer.clone());
  return outcome;
}

/// What rank 0 has in the end.
WholeBatchOutcome run_ranks(int ranks, int64_t accumulation) {
  auto communicators = make_thread_ranks(ranks);
  std::vector<WholeBatchOutcome> outcomes(communicators.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < communicators.size(); ++rank)
    threads.emplace_back([&, rank] { outcomes[rank] = run_rank(*communicators[rank], accumulation); });
  for (auto& thread : threads) thread.join();
  return outcomes.front();
}

/// All examples at once, by hand.
WholeBatchOutcome plain() {
  auto net = network();
  LogSumExp loss(net);
  const Batch all = batch_of(0, examples);
  const DrawScope draws(
      {.seed = 7, .epochs = std::vector<int64_t>(examples), .examples = {0, 1, 2, 3, 4, 5, 6, 7}});
  const at::Tensor value = loss.loss(loss.rows(all, {}), loss.targets(all), {});
  value.backward();
  WholeBatchOutcome outcome{.loss = value.item<double>(), .gradients = {}, .buffers = {}};
  for (const auto& parameter : net->parameters()) outcome.gradients.push_back(parameter.grad().clone());
  return outcome;
}

TEST(WholeBatch, GivesThePlainLoopsGradientHoweverTheBatchIsDivided) {
  const WholeBatchOutcome expected = plain();
  for (const int ranks : {1, 2, 4}) {
    for (const int64_t accumulation : {1, 2, 4}) {
      if (ranks * accumulation > examples) continue;
      const WholeBatchOutcome outcome = run_ranks(ranks, accumulation);
      EXPECT_NEAR(outcome.loss, expected.loss, 1e-12);
      for (size_t i = 0; i < expected.gradients.size(); ++i) {
        EXPECT_LE((outcome.gradients[i] - expected.gradients[i]).abs().max().item<double>(), 1e-12)
            << ranks << " ranks, accumulation " << accumulation;
      }
    }
  }
}

TEST(WholeBatch, TakesRanksThatHaveNotEquallyManyRows) {
  constexpr std::array<int64_t, 2> counts{3, examples - 3};
  auto communicators = make_thread_ranks(2);
  auto hosts = make_thread_ranks(2);  // targets have a group of their own
  std::array<WholeBatchOutcome, 2> outcomes;
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      auto net = network();
      LogSumExp loss(net);
      WholeBatch whole(loss, *net, {.accumulation = 1, .pass = {.precision = Precision::fp64}});
      whole.forward(batch_of(rank == 0 ? 0 : counts[0], counts[rank]), {});
      EXPECT_TRUE(whole.gather(true, {}, *communicators[rank], *hosts[rank]));
      EXPECT_EQ(loss.seen, examples);
      whole.share_of(0, {}).backward();
      outcomes[rank].loss = whole.loss().item<double>();
      for (const auto& parameter : net->parameters())
        outcomes[rank].gradients.push_back(parameter.grad() / 2);  // the mean of two ranks, once it is summed
    });
  }
  for (auto& thread : threads) thread.join();
  const WholeBatchOutcome expected = plain();
  for (const auto& outcome : outcomes) EXPECT_NEAR(outcome.loss, expected.loss, 1e-12);
  for (size_t i = 0; i < expected.gradients.size(); ++i) {
    const at::Tensor sum = outcomes[0].gradients[i] + outcomes[1].gradients[i];
    EXPECT_LE((sum - expected.gradients[i]).abs().max().item<double>(), 1e-12);
  }
}

TEST(WholeBatch, ShowsEachMicroBatchToRunningStatisticsOnce) {
  const auto solo = make_solo();
  const auto buffers = run_rank(*solo, 4, /*with_batch_norm=*/true).buffers;
  ASSERT_EQ(buffers.size(), 3U);
  EXPECT_EQ(buffers[2].item<int64_t>(), 4) << "batches tracked";

  auto net = network(true);
  LogSumExp loss(net);
  for (int64_t micro = 0; micro < 4; ++micro) {
    const DrawScope draws({.seed = 7, .epochs = {0, 0}, .examples = {2 * micro, 2 * micro + 1}});
    loss.rows(batch_of(2 * micro, 2), {});
  }
  EXPECT_TRUE(buffers[0].equal(net->buffers()[0]));
  EXPECT_TRUE(buffers[1].equal(net->buffers()[1]));
}

/// What of the targets reaches a loss.
class Listener final : public WholeBatchLoss {
 public:
  at::Tensor rows(const Batch& batch, const StepContext&) override { return batch.at("image").sum(1); }
  at::Tensor targets(const Batch& batch) override { return batch.at("time"); }
  at::Tensor loss(const at::Tensor& rows, const at::Tensor& targets, const StepContext&) override {
    heard = targets;
    return rows.sum();
  }
  at::Tensor heard;
};

/// Two visits a second apart, twenty years after the beginning.
TEST(WholeBatch, KeepsTargetsApartThatFloat32WouldMakeOne) {
  const at::Tensor seconds = at::tensor({631152000.0, 631152001.0, 16777217.0}, at::kDouble);
  ASSERT_TRUE(seconds.to(at::kFloat)[0].equal(seconds.to(at::kFloat)[1]));
  Batch batch;
  batch.tensors["image"] = at::ones({3, features}, at::kFloat);
  batch.tensors["time"] = seconds;
  for (int64_t i = 0; i < 3; ++i) batch.keys.push_back({.seed = 7, .epoch = 0, .example = i});
  Listener loss;
  WholeBatch whole(loss, *network(), {.accumulation = 1, .pass = {.precision = Precision::fp32}});
  const at::AutoGradMode graph(true);
  whole.forward(batch, {});
  const auto solo = make_solo();
  ASSERT_TRUE(whole.gather(true, {}, *solo, *solo));
  EXPECT_TRUE(loss.heard.equal(seconds)) << loss.heard;
}

TEST(WholeBatch, ComputesNothingOnAnyRankWhenOneHasFailed) {
  auto communicators = make_thread_ranks(2);
  std::array<bool, 2> met{true, true};
  std::array<int64_t, 2> seen{};
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      auto net = network();
      LogSumExp loss(net);
      WholeBatch whole(loss, *net, {.accumulation = 1, .pass = {.precision = Precision::fp64}});
      if (rank == 0) whole.forward(batch_of(0, 4), {});
      met[rank] = whole.gather(rank == 0, {}, *communicators[rank], *communicators[rank]);
      seen[rank] = loss.seen;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(met, (std::array<bool, 2>{false, false}));
  EXPECT_EQ(seen, (std::array<int64_t, 2>{0, 0}));
}

}  // namespace
}  // namespace larmor::testing
