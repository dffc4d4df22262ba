#include <gtest/gtest.h>
#include <torch/types.h>

#include "larmor/comm/communicator.h"
#include "larmor/launch/rank.h"

#include "tests/comm/support/collective_contract.h"

namespace larmor {
namespace {

TEST(Solo, KeepsTheContractOfACommunicator) { testing::check_collectives(*make_solo()); }

TEST(Solo, IsWhatASingleRankConnectsTo) {
  const std::unique_ptr<Communicator> communicator = connect(Rank(), ConnectOptions());
  EXPECT_EQ(communicator->size(), 1);
  EXPECT_TRUE(communicator->is_first());
}

TEST(Solo, MovesNothingWhenInputAndOutputAreTheSame) {
  const std::unique_ptr<Communicator> communicator = make_solo();
  at::Tensor tensor = torch::arange(4.0);
  communicator->all_gather(tensor, tensor).wait();
  EXPECT_TRUE(torch::equal(tensor, torch::arange(4.0)));
}

TEST(Pending, FailsAgainWhenItIsAskedAgain) {
  int calls = 0;
  Pending pending([&calls] {
    calls += 1;
    throw std::runtime_error("lost");
  });
  Pending copy = pending;
  EXPECT_THROW(pending.wait(), std::runtime_error);
  EXPECT_THROW(copy.wait(), std::runtime_error);
  EXPECT_EQ(calls, 2);
  Pending().wait();
}

}  // namespace
}  // namespace larmor
