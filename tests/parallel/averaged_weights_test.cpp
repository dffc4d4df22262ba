// The averaged weights in the place of the live ones, and back.
#include <vector>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "larmor/device/autocast.h"
#include "larmor/parallel/parallelism.h"

#include "tests/comm/support/rank_threads.h"
#include "tests/parallel/support/small_net.h"
#include "tests/parallel/support/training.h"

namespace larmor {
namespace {

using testing::SmallNet;

constexpr int64_t examples_a_step = 12;

void train_steps(SmallNet& net, Parallelism& parallel, Communicator& communicator, Precision precision,
                 int first, int end) {
  const int64_t share = examples_a_step / communicator.size();
  for (int step = first; step < end; ++step) {
    const at::Tensor batch =
        testing::make_batch(step, examples_a_step, at::kFloat).narrow(0, communicator.rank() * share, share);
    at::Tensor loss;
    {
      const AutocastScope autocast(c10::kCPU, precision);
      loss = (net->forward(batch) - batch.flip(2)).to(at::kFloat).square().mean();
    }
    parallel.backward(loss, true, {});
    parallel.finish();
    parallel.step(0.01);
  }
}

at::Tensor flat_in_order(const SmallNet& net, const NamedTensors& tensors) {
  std::vector<at::Tensor> flat;
  for (const auto& item : net->named_parameters()) flat.push_back(tensors.at(item.key()).reshape({-1}));
  return torch::cat(flat).clone();
}

class AveragedWeightsOf : public ::testing::TestWithParam<std::tuple<Strategy, Precision>> {
 protected:
  static Plan plan() {
    return testing::small_plan(std::get<Strategy>(GetParam()), std::get<Precision>(GetParam()));
  }
};
INSTANTIATE_TEST_SUITE_P(Strategies, AveragedWeightsOf,
                         ::testing::Combine(::testing::Values(Strategy::ddp, Strategy::zero1, Strategy::zero2,
                                                              Strategy::zero3),
                                            ::testing::Values(Precision::fp32, Precision::bf16)),
                         [](const auto& of) {
                           return to_text(std::get<Strategy>(of.param)) + "_" +
                                  to_text(std::get<Precision>(of.param));
                         });

/// The network as it is used, and on rank 0 what the optimizer has and the averages.
struct Looked {
  at::Tensor used, weights, averages;
};

Looked look_at(const SmallNet& net, Parallelism& parallel, const Communicator& communicator) {
  const NamedTensors weights = parallel.weights(), averages = parallel.average();
  const WholeNetwork whole(parallel);
  Looked looked{.used = testing::flat_parameters(*net).clone(), .weights = {}, .averages = {}};
  if (communicator.is_first()) {
    looked.weights = flat_in_order(net, weights);
    looked.averages = flat_in_order(net, averages);
  }
  return looked;
}

TEST_P(AveragedWeightsOf, AreTheNetworksForAScopeAndLeaveNoTrace) {
  OptimConfig optim = testing::adam();
  optim.ema_decay = 0.9;
  for (const int ranks : {1, 3}) {
    testing::run_thread_ranks(ranks, [&](Communicator& communicator) {
      at::set_num_threads(1);
      const auto precision = std::get<Precision>(GetParam());
      SmallNet net(1);
      const auto parallel = make_parallelism(plan(), optim, *net, communicator, net->blocks());
      train_steps(net, *parallel, communicator, precision, 0, 5);
      const Looked before = look_at(net, *parallel, communicator);
      at::Tensor seen;
      {
        const AveragedWeights averaged(*parallel);
        const WholeNetwork whole(*parallel);
        seen = testing::flat_parameters(*net).clone();
      }
      const Looked after = look_at(net, *parallel, communicator);
      const at::Tensor of_first = seen.clone();
      communicator.broadcast(of_first, 0).wait();
      EXPECT_TRUE(torch::equal(seen, of_first)) << "rank " << communicator.rank() << " saw another network";
      EXPECT_TRUE(torch::equal(after.used, before.used));
      EXPECT_FALSE(torch::equal(seen, before.used)) << "an average that is the weights tests nothing";
      if (communicator.is_first()) {
        EXPECT_TRUE(torch::equal(seen, before.averages.to(seen.scalar_type())));
        EXPECT_TRUE(torch::equal(after.weights, before.weights));
        EXPECT_TRUE(torch::equal(after.averages, before.averages));
      }
      train_steps(net, *parallel, communicator, precision, 5, 7);
      EXPECT_FALSE(torch::equal(look_at(net, *parallel, communicator).used, after.used)) << "learns no more";
    });
  }
}

TEST(AveragedWeights, OfANetworkWithoutAnAverageAreItsOwn) {
  const auto solo = make_solo();
  SmallNet net(1), same(1);
  const auto parallel = make_parallelism(testing::small_plan(), testing::adam(), *net, *solo);
  const AveragedWeights averaged(*parallel);
  EXPECT_TRUE(torch::equal(testing::flat_parameters(*net), testing::flat_parameters(*same)));
}

}  // namespace
}  // namespace larmor
