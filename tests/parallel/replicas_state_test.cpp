// What replicas save, and what they go on with.
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn.h>

#include "larmor/base/error.h"
#include "larmor/parallel/parallelism.h"

#include "tests/comm/support/rank_threads.h"
#include "tests/parallel/support/small_net.h"
#include "tests/parallel/support/training.h"

namespace larmor {
namespace {

using testing::flat_parameters;
using ::testing::HasSubstr;
using testing::SmallJudge;
using testing::SmallNet;

constexpr double rate = 0.01;

struct Values final : StateWriter, StateReader {
  void tensor(std::string_view name, const at::Tensor& value) override {
    tensors[std::string(name)] = value.clone();
  }
  void value(std::string_view name, const Json& value) override { values[std::string(name)] = value; }
  at::Tensor tensor(std::string_view name) const override { return tensors.at(std::string(name)); }
  Json value(std::string_view name) const override { return values.at(std::string(name)); }
  bool has(std::string_view name) const override { return tensors.contains(std::string(name)); }
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, Json> values;
};

/// A module of one weight w, whose loss is w * x.
struct Single final : torch::nn::Module {
  Single() { w = register_parameter("w", torch::ones({1})); }
  at::Tensor w;
};

Plan small_plan(Precision precision = Precision::fp32) {
  Plan plan;
  plan.precision = precision;
  plan.bucket_bytes = 1024;
  return plan;
}

OptimConfig plain_sgd() {
  OptimConfig config = testing::sgd(0);
  config.clip_norm = 0;
  return config;
}

at::Tensor step_loss(SmallNet& net, int64_t step, int64_t rank) {
  at::set_num_threads(1);
  return net->forward(testing::make_batch(step * 7 + rank, 2, at::kFloat)).square().mean();
}

TEST(SavedState, GoesOnWithTheSameBits) {
  for (OptimConfig optim : {testing::adam(), testing::sgd()}) {
    optim.ema_decay = 0.9;
    Values saved;
    std::vector<at::Tensor> straight(2), straight_average(2), resumed(2), resumed_average(2);
    const auto run = [&](Communicator& communicator, bool resume) {
      const auto rank = static_cast<size_t>(communicator.rank());
      SmallNet net(1);
      const auto parallel = make_parallelism(small_plan(), optim, *net, communicator);
      if (resume) {
        const torch::NoGradGuard no_grad;
        for (const auto& item : net->named_parameters())
          item.value().copy_(saved.tensors.at("w/" + item.key()));
        parallel->load(saved);
      }
      for (int step = resume ? 3 : 0; step < 6; ++step) {
        if (step == 3 && !resume && communicator.is_first()) {
          parallel->save(saved);
          for (const auto& item : net->named_parameters()) saved.tensor("w/" + item.key(), item.value());
          for (const auto& [name, tensor] : parallel->average()) saved.tensor("ema/" + name, tensor);
        }
        parallel->backward(step_loss(net, step, communicator.rank()), true, {});
        parallel->finish();
        parallel->step(rate);
      }
      (resume ? resumed : straight)[rank] = flat_parameters(*net);
      (resume ? resumed_average : straight_average)[rank] = parallel->average().at("first.weight");
    };
    testing::run_thread_ranks(2, [&](Communicator& communicator) { run(communicator, false); });
    testing::run_thread_ranks(2, [&](Communicator& communicator) { run(communicator, true); });
    EXPECT_TRUE(torch::equal(straight[1], resumed[1]));
    EXPECT_TRUE(torch::equal(straight_average[1], resumed_average[1]));
    EXPECT_FALSE(torch::equal(straight_average[1].flatten(), straight[1].narrow(0, 20, 108)));
    EXPECT_EQ(saved.values.at("steps").get<int64_t>(), 3);
    EXPECT_TRUE(saved.has(optim.name == "adam" ? "exp_avg/first.weight" : "momentum_buffer/first.weight"));
    EXPECT_FALSE(saved.has("exp_avg/rare.weight")) << "a weight that never moved has no state";
  }
}

TEST(SavedState, IsWrittenByTheFirstRankOnly) {
  testing::run_thread_ranks(2, [](Communicator& communicator) {
    SmallNet net(1);
    const auto parallel = make_parallelism(small_plan(), testing::adam(), *net, communicator);
    parallel->backward(step_loss(net, 0, 0), true, {});
    parallel->finish();
    parallel->step(rate);
    Values saved;
    parallel->save(saved);
    EXPECT_EQ(saved.tensors.empty(), !communicator.is_first());
  });
}

TEST(SavedState, IsRefusedWhenItIsOfAnotherShape) {
  const auto solo = make_solo();
  torch::nn::Linear small(3, 2), large(3, 4);
  Values saved;
  const auto first = make_parallelism(small_plan(), testing::adam(), *small, *solo);
  first->backward(small->forward(torch::ones({1, 3})).sum(), true, {});
  first->finish();
  first->step(rate);
  first->save(saved);
  const auto second = make_parallelism(small_plan(), testing::adam(), *large, *solo);
  EXPECT_THROW(second->load(saved), Error);
}

TEST(Average, FollowsTheWeightsUnderTheirNames) {
  Single net;
  const auto solo = make_solo();
  OptimConfig optim = plain_sgd();
  EXPECT_FALSE(make_parallelism(small_plan(), optim, net, *solo)->has_average());
  optim.ema_decay = 0.75;
  const auto parallel = make_parallelism(small_plan(), optim, net, *solo);
  ASSERT_TRUE(parallel->has_average());
  parallel->backward((net.w * 4).sum(), true, {});
  parallel->finish();
  parallel->step(0.1);  // 1 - 0.4
  EXPECT_FLOAT_EQ(parallel->average().at("w").item<float>(), 0.75F * 1.0F + 0.25F * 0.6F);
}

}  // namespace
}  // namespace larmor
