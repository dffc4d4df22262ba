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
#include "larmor/comm/watched.h"
#include "larmor/parallel/parallelism.h"

#include "tests/comm/support/rank_threads.h"
#include "tests/parallel/support/small_net.h"
#include "tests/parallel/support/training.h"

namespace larmor {
namespace {

using testing::flat_parameters;
using ::testing::HasSubstr;
using testing::plain_sgd;
using testing::small_plan;
using testing::SmallJudge;
using testing::SmallNet;

constexpr double rate = 0.01;

/// A module of one weight w, whose loss is w * x.
struct Single final : torch::nn::Module {
  Single() { w = register_parameter("w", torch::ones({1})); }
  at::Tensor w;
};

at::Tensor step_loss(SmallNet& net, int64_t step, int64_t rank) {
  at::set_num_threads(1);
  return net->forward(testing::make_batch(step * 7 + rank, 2, at::kFloat)).square().mean();
}

/// Counts the reductions that begin.
struct Counter final : CollectiveObserver {
  Ticket begins(const Collective& collective) override {
    if (collective.kind == CollectiveKind::all_reduce) ++reductions;
    return {};
  }
  void holds_up(const Ticket&) override {}
  void lets_go(const Ticket&) override {}
  void ends(const Ticket&) override {}
  int reductions = 0;
};

TEST(Backward, SendsGradientsWhileItRunsAndOnTheLastMicroBatchOnly) {
  const auto counter = std::make_shared<Counter>();
  const auto solo = observed(make_solo(), counter);
  torch::nn::Linear first(3, 3), second(3, 1);
  torch::nn::Sequential net(first, second);
  Plan plan = small_plan();
  plan.bucket_bytes = 1;
  const auto parallel = make_parallelism(plan, plain_sgd(), *net, *solo);
  for (const bool last : {false, true, false, true}) {
    counter->reductions = 0;
    int sent_half_way = -1;
    const at::Tensor hidden = first->forward(torch::ones({2, 3}));
    hidden.register_hook([&](const at::Tensor&) { sent_half_way = counter->reductions; });
    parallel->backward(second->forward(hidden).sum(), last, {});
    EXPECT_EQ(sent_half_way, last ? 2 : 0) << "weight and bias of the second layer";
    EXPECT_EQ(counter->reductions, last ? 4 : 0);
    if (!last) continue;
    parallel->finish();
    parallel->step(rate);
  }
}

TEST(Votes, ReachAllRanksFromAnyRank) {
  testing::run_thread_ranks(3, [](Communicator& communicator) {
    SmallNet net(1);
    const auto parallel = make_parallelism(small_plan(), plain_sgd(), *net, communicator);
    for (int speaker = 0; speaker < 3; ++speaker) {
      const bool mine = communicator.rank() == speaker;
      parallel->backward(step_loss(net, 0, communicator.rank()), true,
                         {.non_finite = mine && speaker == 0,
                          .stop = mine && speaker == 1,
                          .bad_file = mine && speaker == 2});
      const Reduced reduced = parallel->finish();
      EXPECT_EQ(reduced.votes.non_finite, speaker == 0);
      EXPECT_EQ(reduced.votes.stop, speaker == 1);
      EXPECT_EQ(reduced.votes.bad_file, speaker == 2);
      EXPECT_FALSE(reduced.votes.failed);
      EXPECT_TRUE(reduced.finite);
      parallel->skip();
    }
  });
}

TEST(Votes, CarryWhatTheDeviceHasFoundOutOfLosses) {
  for (const Strategy strategy : {Strategy::ddp, Strategy::zero1, Strategy::zero3}) {
    testing::run_thread_ranks(3, [&](Communicator& communicator) {
      SmallNet net(1);
      const auto parallel =
          make_parallelism(small_plan(strategy), plain_sgd(), *net, communicator, net->blocks());
      for (const double odd : {0.0, 2.0}) {
        const double own = communicator.rank() == 1 ? odd : 0.0;
        parallel->backward(step_loss(net, 0, communicator.rank()), true,
                           {.new_names = own > 0, .non_finite_losses = torch::tensor(own)});
        const Reduced reduced = parallel->finish();
        EXPECT_EQ(reduced.votes.non_finite, odd > 0) << to_text(strategy);
        EXPECT_EQ(reduced.votes.new_names, odd > 0) << to_text(strategy);
        EXPECT_FALSE(reduced.votes.stop);
        parallel->skip();
      }
    });
  }
}

TEST(FailStep, LetsTheOthersFinishAndTellsThem) {
  testing::run_thread_ranks(3, [](Communicator& communicator) {
    SmallNet net(1);
    const auto parallel = make_parallelism(small_plan(), plain_sgd(), *net, communicator);
    const at::Tensor before = flat_parameters(*net);
    for (int step = 0; step < 2; ++step) {
      // The first micro-batch succeeds everywhere, so that there are gradients to be discarded.
      parallel->backward(step_loss(net, step, communicator.rank()), false, {});
      if (communicator.rank() == 1) {
        parallel->fail_step({.failed = true});
      } else {
        parallel->backward(step_loss(net, step, communicator.rank()), true, {});
      }
      EXPECT_TRUE(parallel->finish().votes.failed);
      parallel->skip();
      EXPECT_TRUE(torch::equal(flat_parameters(*net), before));

      parallel->backward(step_loss(net, step, communicator.rank()), true, {});
      EXPECT_FALSE(parallel->finish().votes.failed) << "the next step starts afresh";
      parallel->skip();
    }
  });
}

/// Throws in the middle of backward, after some buckets have left.
struct Trap : torch::autograd::Function<Trap> {
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& input) {
    return input.clone();
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext*,
                                               torch::autograd::tensor_list) {
    throw std::runtime_error("out of memory, say");
  }
};

TEST(FailStep, TakesOverWhereBackwardBroke) {
  testing::run_thread_ranks(2, [](Communicator& communicator) {
    torch::nn::Sequential net(torch::nn::Linear(3, 3), torch::nn::Linear(3, 3), torch::nn::Linear(3, 1));
    Plan plan = small_plan();
    plan.bucket_bytes = 1;  // a bucket a parameter: the last layer's leave before the trap
    const auto parallel = make_parallelism(plan, plain_sgd(), *net, communicator);
    at::Tensor hidden = torch::ones({2, 3});
    for (size_t layer = 0; layer < 3; ++layer) {
      if (layer == 2 && communicator.rank() == 1) hidden = Trap::apply(hidden);
      hidden = net[layer]->as<torch::nn::Linear>()->forward(hidden);
    }
    try {
      parallel->backward(hidden.sum(), true, {});
      EXPECT_EQ(communicator.rank(), 0);
    } catch (const std::exception& error) {
      EXPECT_THAT(error.what(), HasSubstr("out of memory, say"));
      parallel->fail_step({.failed = true});
    }
    EXPECT_TRUE(parallel->finish().votes.failed);
    parallel->skip();
  });
}

TEST(Finish, GivesOneRankTheBitsOfAPlainBackward) {
  for (const int micro_batches : {1, 3}) {
    SmallNet ours(1), plain(1);
    const auto solo = make_solo();
    const auto parallel = make_parallelism(small_plan(), plain_sgd(), *ours, *solo);
    for (int micro = 0; micro < micro_batches; ++micro) {
      parallel->backward(step_loss(ours, micro, 0), micro + 1 == micro_batches, {});
      step_loss(plain, micro, 0).backward();
    }
    parallel->finish();
    const std::vector<at::Tensor> our_parameters = ours->parameters(), parameters = plain->parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      ASSERT_EQ(our_parameters[i].grad().defined(), parameters[i].grad().defined());
      if (!parameters[i].grad().defined()) continue;
      EXPECT_TRUE(torch::equal(our_parameters[i].grad(), parameters[i].grad())) << "parameter " << i;
    }
  }
}

TEST(Finish, SaysOnAllRanksThatOneGradientIsNotFinite) {
  testing::run_thread_ranks(2, [](Communicator& communicator) {
    Single net;
    const auto parallel = make_parallelism(small_plan(), plain_sgd(), net, communicator);
    const float factor = communicator.rank() == 1 ? std::numeric_limits<float>::quiet_NaN() : 1.0F;
    parallel->backward((net.w * factor).sum(), true, {});
    const Reduced reduced = parallel->finish();
    EXPECT_FALSE(reduced.finite);
    EXPECT_FALSE(reduced.votes.failed || reduced.votes.non_finite || reduced.votes.stop);
    parallel->skip();

    parallel->backward((net.w * 2).sum(), true, {});
    EXPECT_TRUE(parallel->finish().finite) << "nothing of the bad step may stay";
    parallel->step(rate);
    EXPECT_FLOAT_EQ(net.w.item<float>(), 1 - 2 * static_cast<float>(rate));
  });
}

TEST(Finish, GivesTheNormOfTheMeanBeforeClipping) {
  testing::run_thread_ranks(2, [](Communicator& communicator) {
    Single net;
    OptimConfig optim = plain_sgd();
    optim.clip_norm = 0.5;
    const auto parallel = make_parallelism(small_plan(), optim, net, communicator);
    parallel->backward((net.w * (communicator.rank() == 0 ? 3.0 : 5.0)).sum(), true, {});
    EXPECT_FLOAT_EQ(static_cast<float>(parallel->finish().gradient_norm), 4);
    parallel->step(0.1);
    EXPECT_NEAR(net.w.item<float>(), 1 - 0.1 * 0.5, 1e-6);
  });
}

TEST(LossScaleInReplicas, LeavesNoTraceInTheWeights) {
  const auto train = [](Precision precision) {
    SmallNet net(1);
    const auto solo = make_solo();
    OptimConfig optim = plain_sgd();
    optim.clip_norm = 0.5;
    const auto parallel = make_parallelism(small_plan(Strategy::ddp, precision), optim, *net, *solo);
    EXPECT_EQ(parallel->loss_scale(), precision == Precision::fp16 ? 65536 : 1);
    double norm = 0;
    for (int step = 0; step < 3; ++step) {
      parallel->backward(step_loss(net, step, 0), true, {});
      norm = parallel->finish().gradient_norm;
      parallel->step(rate);
    }
    return std::pair(flat_parameters(*net), norm);
  };
  const auto [plain, plain_norm] = train(Precision::fp32);
  const auto [scaled, scaled_norm] = train(Precision::fp16);
  EXPECT_LT(testing::largest_difference(plain, scaled), 1e-6);
  EXPECT_NEAR(plain_norm, scaled_norm, 1e-6 * plain_norm);
}

TEST(LossScaleInReplicas, BacksOffWhenAStepIsSkipped) {
  SmallNet net(1);
  const auto solo = make_solo();
  const auto parallel =
      make_parallelism(small_plan(Strategy::ddp, Precision::fp16), plain_sgd(), *net, *solo);
  parallel->backward(step_loss(net, 0, 0) * 1e38, true, {});
  EXPECT_FALSE(parallel->finish().finite);
  parallel->skip();
  EXPECT_EQ(parallel->loss_scale(), 32768);
}

TEST(MakeParallelism, GivesAllRanksTheFirstOnesWeightsAndBuffers) {
  testing::run_thread_ranks(3, [](Communicator& communicator) {
    torch::nn::Sequential net(torch::nn::Conv3d(torch::nn::Conv3dOptions(1, 2, 1)),
                              torch::nn::BatchNorm3d(2));
    const torch::NoGradGuard no_grad;
    for (at::Tensor& tensor : net->parameters()) tensor.fill_(communicator.rank() + 1);
    for (at::Tensor& tensor : net->buffers()) tensor.fill_(communicator.rank() + 1);
    net->parameters()[0].set_requires_grad(false);  // frozen ones as well
    const auto parallel = make_parallelism(small_plan(), plain_sgd(), *net, communicator);
    for (const at::Tensor& tensor : net->parameters()) EXPECT_EQ(tensor.sum().item<double>(), tensor.numel());
    for (const at::Tensor& tensor : net->buffers()) EXPECT_EQ(tensor.sum().item<double>(), tensor.numel());
  });
}

TEST(MakeParallelism, RefusesRanksWithDifferentNetworks) {
  const auto errors = testing::try_thread_ranks(2, [](Communicator& communicator) {
    torch::nn::Linear net(3, 2 + communicator.rank());
    make_parallelism(small_plan(), plain_sgd(), *net, communicator);
  });
  EXPECT_THAT(testing::message_of(errors[1]),
              HasSubstr("rank 1 has another network than rank 0: 'weight Float [ 3 3 ]' against "
                        "'weight Float [ 2 3 ]'"));
}

TEST(MakeParallelism, LetsGoOfTheModuleAtItsEnd) {
  SmallNet net(1);
  const auto solo = make_solo();
  make_parallelism(small_plan(), plain_sgd(), *net, *solo).reset();
  step_loss(net, 0, 0).backward();
  EXPECT_TRUE(net->parameters().back().grad().defined());
}

TEST(MakeParallelism, CountsAWeightThatTwoBlocksShareOnce) {
  torch::nn::Linear first(3, 3), second(3, 3);
  second->weight = second->register_parameter("tied", first->weight);
  torch::nn::Sequential net(first, second);
  const auto solo = make_solo();
  OptimConfig optim = plain_sgd();
  optim.ema_decay = 0.5;
  const auto parallel = make_parallelism(small_plan(), optim, *net, *solo);
  parallel->backward(net->forward(torch::ones({1, 3})).sum(), true, {});
  parallel->finish();
  parallel->step(rate);
  const NamedTensors average = parallel->average();
  EXPECT_TRUE(torch::equal(average.at("0.weight"), average.at("1.tied")));
}

TEST(Objectives, LearnFromOnePassWithoutTeachingEachOther) {
  // As a generator and its discriminator: both losses are taken before either network moves.
  const auto train = [](Communicator& communicator, int64_t share) {
    at::set_num_threads(1);
    SmallNet maker(1);
    SmallJudge judge(2);
    const auto first = make_parallelism(small_plan(), plain_sgd(), *maker, communicator);
    const auto second = make_parallelism(small_plan(), plain_sgd(), *judge, communicator);
    for (int step = 0; step < 5; ++step) {
      const at::Tensor all = testing::make_batch(step, 4, at::kFloat);
      const at::Tensor batch = all.narrow(0, communicator.rank() * share, share);
      const at::Tensor made = maker->forward(batch);
      for (at::Tensor& parameter : judge->parameters()) parameter.set_requires_grad(false);
      const at::Tensor fooled = (judge->forward(made) - 1).square().mean();
      for (at::Tensor& parameter : judge->parameters()) parameter.set_requires_grad(true);
      const at::Tensor judged =
          judge->forward(made.detach()).square().mean() + (judge->forward(batch) - 1).square().mean();
      first->backward((made - batch).square().mean() + 0.1 * fooled, true, {});
      second->backward(judged, true, {});
      first->finish();
      second->finish();
      first->step(rate);
      second->step(rate);
    }
    return torch::cat({flat_parameters(*maker), flat_parameters(*judge)});
  };
  const auto plainly = [](at::ScalarType type) {
    SmallNet maker(1, type);
    SmallJudge judge(2, type);
    for (int step = 0; step < 5; ++step) {
      const at::Tensor batch = testing::make_batch(step, 4, type);
      const at::Tensor made = maker->forward(batch);
      const at::Tensor maker_loss =
          (made - batch).square().mean() + 0.1 * (judge->forward(made) - 1).square().mean();
      const at::Tensor judge_loss =
          judge->forward(made.detach()).square().mean() + (judge->forward(batch) - 1).square().mean();
      const auto maker_slopes =
          torch::autograd::grad({maker_loss}, maker->parameters(), {}, true, false, true);
      const auto judge_slopes = torch::autograd::grad({judge_loss}, judge->parameters());
      const torch::NoGradGuard no_grad;
      for (size_t i = 0; i < maker_slopes.size(); ++i) {
        if (maker_slopes[i].defined()) maker->parameters()[i].sub_(maker_slopes[i] * rate);
      }
      for (size_t i = 0; i < judge_slopes.size(); ++i) judge->parameters()[i].sub_(judge_slopes[i] * rate);
    }
    return torch::cat({flat_parameters(*maker), flat_parameters(*judge)});
  };
  const at::Tensor in_float32 = plainly(at::kFloat), exact = plainly(at::kDouble);
  for (const int ranks : {1, 2, 4}) {
    testing::run_thread_ranks(ranks, [&](Communicator& communicator) {
      testing::expect_but_for_rounding(train(communicator, 4 / ranks), in_float32, exact);
    });
  }
}

TEST(Objectives, ComplainWhenALossTeachesTheWrongNetwork) {
  SmallNet maker(1);
  SmallJudge judge(2);
  const auto solo = make_solo();
  const auto first = make_parallelism(small_plan(), plain_sgd(), *maker, *solo);
  const auto second = make_parallelism(small_plan(), plain_sgd(), *judge, *solo);
  const at::Tensor loss = judge->forward(maker->forward(testing::make_batch(0, 1, at::kFloat))).mean();
  EXPECT_THROW(first->backward(loss, true, {}), Error);
}

}  // namespace
}  // namespace larmor
