#include <chrono>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "larmor/base/error.h"
#include "larmor/comm/communicator.h"

#include "tests/comm/support/collective_contract.h"
#include "tests/comm/support/rank_threads.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

TEST(ThreadRanks, KeepTheContractOfACommunicator) {
  for (const int size : {1, 2, 3, 4}) testing::run_thread_ranks(size, testing::check_collectives);
}

TEST(ThreadRendezvous, GivesEachThreadItsRank) {
  for (const int size : {1, 3}) {
    ThreadRendezvous rendezvous(size, DeviceKind::cpu);
    const auto errors = testing::detail::try_ranks(
        size, [&](int rank) { return rendezvous.connect(rank, /*device_index=*/-1); },
        testing::check_collectives);
    testing::detail::rethrow_first(errors);
  }
}

TEST(ThreadRanks, SumInRankOrderWhoeverComesLast) {
  // In float32, (1e8 + 1) - 1e8 is 0 and (1e8 - 1e8) + 1 is 1: the order of the sum shows.
  const float values[] = {1e8F, 1.0F, -1e8F};
  for (int last = 0; last < 3; ++last) {
    testing::run_thread_ranks(3, [&](Communicator& communicator) {
      if (communicator.rank() == last) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      at::Tensor tensor = torch::full({1}, values[communicator.rank()]);
      communicator.all_reduce(tensor, Reduce::sum).wait();
      EXPECT_EQ(tensor.item<float>(), 0.0F) << "last was rank " << last;
    });
  }
}

TEST(ThreadRanks, DoNotBlockBeforeWait) {
  std::vector<std::unique_ptr<Communicator>> ranks = make_thread_ranks(2);
  at::Tensor first = torch::ones({2}), second = torch::ones({2});
  Pending one = ranks[0]->all_reduce(first, Reduce::sum);
  Pending two = ranks[0]->broadcast(second, 1);
  // Both ranks on one thread: this returns at all only when no call waits for the other rank.
  at::Tensor third = torch::ones({2}), fourth = torch::full({2}, 7.0);
  ranks[1]->all_reduce(third, Reduce::sum).wait();
  ranks[1]->broadcast(fourth, 1).wait();
  one.wait();
  two.wait();
  EXPECT_EQ(first[0].item<float>(), 2.0F);
  EXPECT_EQ(second[0].item<float>(), 7.0F);
}

TEST(ThreadRanks, FailInsteadOfHangWhenARankThrows) {
  const auto errors = testing::try_thread_ranks(3, [](Communicator& communicator) {
    at::Tensor tensor = torch::ones({1});
    communicator.all_reduce(tensor, Reduce::sum).wait();
    if (communicator.rank() == 1) throw std::runtime_error("my own mistake");
    communicator.all_reduce(tensor, Reduce::sum).wait();
  });
  EXPECT_EQ(testing::message_of(errors[1]), "my own mistake");
  for (const size_t rank : {0U, 2U}) {
    EXPECT_THAT(testing::message_of(errors[rank]), HasSubstr("all_reduce #2 for rank 1, which is gone"));
    try {
      std::rethrow_exception(errors[rank]);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::rank_lost);
    }
  }
}

TEST(ThreadRanks, CompleteWhatALeavingRankHadJoined) {
  std::vector<std::unique_ptr<Communicator>> ranks = make_thread_ranks(2);
  at::Tensor first = torch::ones({1}), second = torch::ones({1});
  Pending early = ranks[0]->all_reduce(first, Reduce::sum);
  ranks[0].reset();
  ranks[1]->all_reduce(second, Reduce::sum).wait();
  EXPECT_EQ(second.item<float>(), 2.0F);
  early.wait();
}

TEST(ThreadRanks, EndACollectiveUnderWayOnAbort) {
  std::vector<std::unique_ptr<Communicator>> ranks = make_thread_ranks(2);
  at::Tensor tensor = torch::ones({1});
  Pending pending = ranks[0]->all_reduce(tensor, Reduce::sum);
  std::thread([&] { ranks[0]->abort(); }).join();
  EXPECT_THROW(pending.wait(), Error);
  EXPECT_THROW(ranks[1]->barrier(), Error);
}

TEST(ThreadRanks, TellRanksThatDisagree) {
  const auto errors = testing::try_thread_ranks(2, [](Communicator& communicator) {
    at::Tensor tensor = torch::ones({communicator.rank() + 1});
    communicator.all_reduce(tensor, Reduce::sum).wait();
  });
  for (const auto& error : errors) {
    EXPECT_THAT(testing::message_of(error),
                HasSubstr("rank 0 calls all_reduce of 1 x Float, rank 1 calls all_reduce of 2 x Float"));
  }
}

}  // namespace
}  // namespace larmor
