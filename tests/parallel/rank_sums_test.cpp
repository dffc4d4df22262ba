#include "larmor/parallel/rank_sums.h"

#include <chrono>
#include <stdexcept>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn.h>

#include "larmor/base/error.h"
#include "larmor/nn/blocks/batch_norm.h"
#include "larmor/parallel/parallelism.h"

#include "tests/comm/support/rank_threads.h"
#include "tests/parallel/support/training.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

using RunRanks = std::vector<std::exception_ptr> (*)(int size, const testing::RankBody& body);

std::vector<std::exception_ptr> over_gloo(int size, const testing::RankBody& body) {
  return testing::try_gloo_ranks(size, std::chrono::seconds(60), body);
}

Exit exit_of(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const Error& known) {
    return known.exit();
  } catch (...) {
    return Exit::unexpected;
  }
  return Exit::done;
}

class RankSumsOver : public ::testing::TestWithParam<RunRanks> {};

TEST_P(RankSumsOver, MayComeBetweenOtherCollectives) {
  const auto errors = GetParam()(3, [](Communicator& communicator) {
    RankSums sums(communicator);
    EXPECT_EQ(sums.ranks(), 3);
    at::Tensor gradients = at::ones({1000});
    Pending under_way;
    // Ranks may differ in what is under way elsewhere when they come to a sum.
    if (communicator.rank() != 1) under_way = communicator.all_reduce(gradients, Reduce::sum);
    const at::Tensor values = at::full({5}, 1.0 + communicator.rank(), at::kDouble);
    sums.add_up(values);
    EXPECT_EQ(values.min().item<double>(), 6);
    if (communicator.rank() == 1) under_way = communicator.all_reduce(gradients, Reduce::sum);
    under_way.wait();
    EXPECT_EQ(gradients.min().item<float>(), 3);
  });
  for (const auto& error : errors) EXPECT_EQ(message_of(error), "");
}

TEST_P(RankSumsOver, FailWhereARankHasLeftAndHurtNothingElse) {
  const auto errors = GetParam()(3, [](Communicator& communicator) {
    RankSums sums(communicator);
    const at::Tensor values = at::ones({4});
    sums.add_up(values);
    if (communicator.rank() == 1) {
      EXPECT_TRUE(sums.leave());
    } else {
      try {
        sums.add_up(values);
        ADD_FAILURE() << "a sum without rank 1";
      } catch (const Error& error) {
        EXPECT_EQ(error.exit(), Exit::rank_lost);
        EXPECT_THAT(error.message(), HasSubstr("in batch norm over all ranks: rank "));
      }
      EXPECT_TRUE(sums.leave());
    }
    EXPECT_TRUE(sums.leave()) << "twice is once";
    at::Tensor vote = at::ones({1});
    communicator.all_reduce(vote, Reduce::sum).wait();
    EXPECT_EQ(vote.item<float>(), 3);
  });
  for (const auto& error : errors) EXPECT_EQ(message_of(error), "");
}

/// Fails on its way forward or back, like a rank that runs out of memory there.
struct SumTrap : torch::autograd::Function<SumTrap> {
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& input, bool at_once) {
    if (at_once) throw std::runtime_error("out of memory, say");
    return input.clone();
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext*,
                                               const torch::autograd::tensor_list&) {
    throw std::runtime_error("out of memory, say");
  }
};

/// A step as the loop takes it, in which rank 1 fails behind the first norm. The vote that the step failed.
bool fail_a_step(Communicator& communicator, bool in_forward) {
  RankSums sums(communicator);
  nn::BatchNorm first(4), second(4), third(4);
  torch::nn::Linear entry(3, 4), exit(4, 1);
  torch::nn::Sequential net(entry, exit);
  Plan plan;
  plan.bucket_bytes = 1;  // a bucket a parameter: some leave before the trap
  const auto parallel = make_parallelism(plan, testing::sgd(), *net, communicator);
  try {
    const RankSumScope scope(&sums);
    at::Tensor hidden = first.forward(entry->forward(at::ones({2, 3}) + communicator.rank()));
    hidden = second.forward(hidden);
    if (communicator.rank() == 1) hidden = SumTrap::apply(hidden, in_forward);
    parallel->backward(exit->forward(third.forward(hidden)).sum(), /*last=*/true, {});
    ADD_FAILURE() << "rank " << communicator.rank() << " went through";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(),
                HasSubstr(communicator.rank() == 1 ? "out of memory, say" : "in batch norm over all ranks"));
    EXPECT_TRUE(sums.leave());
    parallel->fail_step({.failed = true});
  }
  return parallel->finish().votes.failed;
}

TEST_P(RankSumsOver, LetAllRanksComeOutOfAStepThatOneFails) {
  for (const bool in_forward : {true, false}) {
    const auto start = std::chrono::steady_clock::now();
    const auto errors = GetParam()(
        3, [&](Communicator& communicator) { EXPECT_TRUE(fail_a_step(communicator, in_forward)); });
    for (const auto& error : errors) EXPECT_EQ(message_of(error), "");
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  }
}

TEST_P(RankSumsOver, NoticeARankThatIsGone) {
  const auto errors = GetParam()(2, [](Communicator& communicator) {
    RankSums sums(communicator);
    const at::Tensor values = at::ones({4});
    sums.add_up(values);
    if (communicator.rank() == 1) throw std::runtime_error("my own mistake");
    sums.add_up(values);
  });
  EXPECT_EQ(exit_of(errors[0]), Exit::rank_lost);
  EXPECT_EQ(message_of(errors[1]), "my own mistake");
}

INSTANTIATE_TEST_SUITE_P(Threads, RankSumsOver, ::testing::Values(&testing::try_thread_ranks));
INSTANTIATE_TEST_SUITE_P(Gloo, RankSumsOver, ::testing::Values(&over_gloo));

TEST(RankSums, OfARankAloneAreItsOwn) {
  const auto solo = make_solo();
  RankSums sums(*solo);
  const at::Tensor values = at::full({2}, 7.0);
  sums.add_up(values);
  EXPECT_EQ(sums.ranks(), 1);
  EXPECT_EQ(values.sum().item<double>(), 14);
}

}  // namespace
}  // namespace larmor
