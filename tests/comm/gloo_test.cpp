#include <chrono>
#include <latch>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
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
  std::latch thrown(1);
  const auto errors = testing::try_gloo_ranks(2, seconds(60), [&](Communicator& communicator) {
    at::Tensor tensor = torch::ones({4});
    if (communicator.rank() == 1) {
      Pending under_way = communicator.all_reduce(tensor, Reduce::sum);
      thrown.count_down();
      throw std::runtime_error("my own mistake");
    }
    thrown.wait();
    // The first of these may still meet what the other rank has begun.
    communicator.all_reduce(tensor, Reduce::sum).wait();
    communicator.all_reduce(tensor, Reduce::sum).wait();
  });
  EXPECT_EQ(testing::message_of(errors[1]), "my own mistake");
  EXPECT_EQ(exit_of(errors[0]), Exit::rank_lost);
  EXPECT_LT(seconds_since(start), 30);
}

TEST(Gloo, EndsACollectiveUnderWayOnAbort) {
  const auto start = std::chrono::steady_clock::now();
  std::latch ended(1);
  const auto errors = testing::try_gloo_ranks(2, seconds(60), [&](Communicator& communicator) {
    if (communicator.rank() == 1) {
      ended.wait();
      return;
    }
    at::Tensor tensor = torch::ones({4});
    Pending pending = communicator.all_reduce(tensor, Reduce::sum);
    std::thread late([&] {
      std::this_thread::sleep_for(milliseconds(50));
      communicator.abort();
    });
    try {
      pending.wait();
    } catch (...) {
      late.join();
      ended.count_down();
      throw;
    }
    late.join();
    ended.count_down();
  });
  EXPECT_THAT(testing::message_of(errors[0]), HasSubstr("rank 0 gave up all_reduce #1"));
  EXPECT_EQ(exit_of(errors[1]), Exit::done);
  EXPECT_LT(seconds_since(start), 30);
}

TEST(Gloo, LivesOnWhenItWritesToAPeerThatHasAborted) {
  // A write to a closed socket raises SIGPIPE, whose habit is to end the process.
  testing::run_gloo_ranks(3, [](Communicator& communicator) {
    for (int round = 0; round < 30; ++round) {
      const std::unique_ptr<Communicator> other = communicator.duplicate();
      communicator.barrier();
      if (communicator.rank() != round % 3) {
        at::Tensor tensor = torch::ones({1000 * (round + 1)});
        EXPECT_THROW(other->all_reduce(tensor, Reduce::sum).wait(), Error);
      }
      // Those who notice, too: another may wait for them.
      other->abort();
      communicator.barrier();
    }
  });
}

TEST(Gloo, GivesUpOnASilentPeerAfterTheLimit) {
  std::latch ended(1);
  const auto errors = testing::try_gloo_ranks(2, seconds(2), [&](Communicator& communicator) {
    if (communicator.rank() == 1) {
      ended.wait();
      return;
    }
    at::Tensor tensor = torch::ones({4});
    try {
      communicator.all_reduce(tensor, Reduce::sum).wait();
    } catch (...) {
      ended.count_down();
      throw;
    }
    ended.count_down();
  });
  EXPECT_EQ(exit_of(errors[0]), Exit::rank_lost);
  EXPECT_THAT(testing::message_of(errors[0]), HasSubstr("waited 2 s for its peers in all_reduce #1"));
}

TEST(Connect, KeepsGenerationsApartInAStoreThatOutlivesThem) {
  c10d::TCPStoreOptions server;
  server.isServer = true;
  server.port = 0;
  server.waitWorkers = false;
  const auto agent = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", server);
  const auto connect_at = [&](int index, int64_t generation, milliseconds limit) {
    Rank rank;
    rank.index = rank.local_index = index;
    rank.count = rank.local_count = 2;
    rank.master_port = agent->getPort();
    rank.agent_hosts_store = true;
    rank.generation = generation;
    return connect(rank, {.limit = limit});
  };
  // Of the first generation only rank 1 comes; it leaves its keys behind.
  EXPECT_THROW(connect_at(1, 0, milliseconds(100)), Error);
  EXPECT_THROW(connect_at(0, 1, milliseconds(100)), Error) << "rank 1 has not come to this generation";
  std::thread second([&] { connect_at(1, 2, seconds(30))->barrier(); });
  connect_at(0, 2, seconds(30))->barrier();
  second.join();
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

TEST(Rendezvous, MakesSeveralGroupsInOneStore) {
  Rank first;
  first.count = first.local_count = 2;
  const int descriptor = testing::listen_on_loopback(first.master_port);
  Rank second = first;
  second.index = second.local_index = 1;
  first.store_descriptor = descriptor;
  const auto meet_twice = [](const Rank& rank) {
    Rendezvous rendezvous(rank, {.rendezvous = seconds(30), .collective = seconds(30)});
    const auto agreement = rendezvous.connect(DeviceKind::cpu, -1);
    EXPECT_EQ(broadcast_bytes(*agreement, rank.index == 0 ? "a plan" : "", 0), "a plan");
    const auto training = rendezvous.connect(DeviceKind::cpu, -1);
    at::Tensor ones = torch::ones({4}), tens = torch::full({4}, 10.0);
    // In another order on each rank: the groups have channels of their own.
    Communicator& earlier = rank.index == 0 ? *agreement : *training;
    Communicator& later = rank.index == 0 ? *training : *agreement;
    Pending one = earlier.all_reduce(rank.index == 0 ? ones : tens, Reduce::sum);
    Pending two = later.all_reduce(rank.index == 0 ? tens : ones, Reduce::sum);
    one.wait();
    two.wait();
    EXPECT_TRUE(ones.equal(torch::full({4}, 2.0)));
    EXPECT_TRUE(tens.equal(torch::full({4}, 20.0)));
  };
  std::thread other([&] { meet_twice(second); });
  meet_twice(first);
  other.join();
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
