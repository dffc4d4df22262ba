#include <chrono>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/comm/communicator.h"

#include "tests/comm/support/collective_contract.h"
#include "tests/comm/support/rank_threads.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

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

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Gloo, KeepsTheContractOfACommunicator) {
  for (const int size : {2, 3}) testing::run_gloo_ranks(size, testing::check_collectives);
}

TEST(Gloo, TellsWhichCollectiveLostAPeer) {
  const auto start = std::chrono::steady_clock::now();
  const auto errors = testing::try_gloo_ranks(2, seconds(60), [](Communicator& communicator) {
    at::Tensor tensor = torch::ones({4});
    communicator.all_reduce(tensor, Reduce::sum).wait();
    if (communicator.rank() == 1) throw std::runtime_error("my own mistake");
    communicator.all_reduce(tensor, Reduce::sum).wait();
  });
  EXPECT_EQ(exit_of(errors[0]), Exit::rank_lost);
  EXPECT_THAT(testing::message_of(errors[0]), HasSubstr("rank 0 lost connection to a peer in all_reduce #2"));
  EXPECT_LT(seconds_since(start), 30) << "a lost peer has to be noticed long before the limit";
}

TEST(Gloo, LeavesAtOnceWhenARankThrowsWithACollectiveUnderWay) {
  const auto start = std::chrono::steady_clock::now();
  const auto errors = testing::try_gloo_ranks(2, seconds(60), [](Communicator& communicator) {
    at::Tensor tensor = torch::ones({4});
    if (communicator.rank() == 1) {
      // The peer never joins this one.
      Pending lost = communicator.all_reduce(tensor, Reduce::sum);
      std::this_thread::sleep_for(milliseconds(50));
      throw std::runtime_error("my own mistake");
    }
    std::this_thread::sleep_for(milliseconds(200));
    communicator.barrier();
    communicator.barrier();
  });
  EXPECT_EQ(testing::message_of(errors[1]), "my own mistake");
  EXPECT_EQ(exit_of(errors[0]), Exit::rank_lost);
  EXPECT_LT(seconds_since(start), 30);
}

TEST(Gloo, EndsACollectiveUnderWayOnAbort) {
  const auto start = std::chrono::steady_clock::now();
  const auto errors = testing::try_gloo_ranks(2, seconds(60), [](Communicator& communicator) {
    at::Tensor tensor = torch::ones({4});
    if (communicator.rank() == 1) {
      std::this_thread::sleep_for(milliseconds(500));
      return;
    }
    Pending pending = communicator.all_reduce(tensor, Reduce::sum);
    std::thread late([&] {
      std::this_thread::sleep_for(milliseconds(100));
      communicator.abort();
    });
    try {
      pending.wait();
    } catch (...) {
      late.join();
      throw;
    }
    late.join();
  });
  EXPECT_THAT(testing::message_of(errors[0]), HasSubstr("rank 0 gave up all_reduce #1"));
  EXPECT_EQ(exit_of(errors[1]), Exit::done);
  EXPECT_LT(seconds_since(start), 30);
}

TEST(Gloo, GivesUpOnASilentPeerAfterTheLimit) {
  const auto errors = testing::try_gloo_ranks(2, milliseconds(500), [](Communicator& communicator) {
    at::Tensor tensor = torch::ones({4});
    if (communicator.rank() == 1) {
      std::this_thread::sleep_for(milliseconds(1200));
      return;
    }
    communicator.all_reduce(tensor, Reduce::sum).wait();
  });
  EXPECT_EQ(exit_of(errors[0]), Exit::rank_lost);
  EXPECT_THAT(testing::message_of(errors[0]), HasSubstr("waited 500 ms for its peers in all_reduce #1"));
}

TEST(Connect, NamesTheRanksThatNeverCame) {
  Rank rank;
  rank.count = rank.local_count = 4;
  rank.store_descriptor = testing::listen_on_loopback(rank.master_port);
  try {
    connect(rank, {.limit = milliseconds(300)});
    FAIL() << "three ranks are missing";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("ranks 1, 2, 3 of 4"), HasSubstr("127.0.0.1:")));
  }
}

TEST(Connect, SaysThatTheMasterCannotBeReached) {
  Rank rank;
  rank.index = rank.local_index = 1;
  rank.count = rank.local_count = 2;
  ::close(testing::listen_on_loopback(rank.master_port));
  try {
    connect(rank, {.limit = milliseconds(300)});
    FAIL() << "nobody listens there";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.message(), AllOf(HasSubstr("127.0.0.1:" + std::to_string(rank.master_port)),
                                       HasSubstr("connection refused")));
    EXPECT_THAT(error.hint(), HasSubstr("MASTER_ADDR"));
  }
}

TEST(Connect, SaysThatTheMastersNameIsUnknown) {
  Rank rank;
  rank.index = 1;
  rank.count = 2;
  rank.master_address = "no-such-host.invalid";
  rank.master_port = 29500;
  try {
    connect(rank, {.limit = milliseconds(200)});
    FAIL() << "there is no such host";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.message(), HasSubstr("no-such-host.invalid:29500"));
  }
}

TEST(Connect, SaysThatThePortIsTaken) {
  Rank rank;
  rank.count = rank.local_count = 2;
  const int taken = testing::listen_on_loopback(rank.master_port);
  try {
    connect(rank, {.limit = milliseconds(500)});
    FAIL() << "the port is taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.message(),
                AllOf(HasSubstr("port is in use"), HasSubstr(std::to_string(rank.master_port))));
    EXPECT_THAT(error.hint(), HasSubstr("MASTER_PORT"));
  }
  ::close(taken);
}

TEST(Connect, RefusesALoopbackMasterForSeveralHosts) {
  Rank rank;
  rank.count = 1;
  rank.local_count = 1;
  // Two ranks, one on this host: as though the other were elsewhere.
  rank.count = 2;
  const int descriptor = testing::listen_on_loopback(rank.master_port);
  std::exception_ptr first;
  std::thread other([&] {
    Rank second = rank;
    second.index = 1;
    try {
      connect(second, {.limit = seconds(5)});
    } catch (const Error&) {
    }
  });
  rank.store_descriptor = descriptor;
  try {
    connect(rank, {.limit = seconds(5)});
  } catch (const Error&) {
    first = std::current_exception();
  }
  other.join();
  EXPECT_EQ(exit_of(first), Exit::environment);
  EXPECT_THAT(testing::message_of(first), HasSubstr("over loopback"));
}

}  // namespace
}  // namespace larmor
