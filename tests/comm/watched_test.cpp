#include "larmor/comm/watched.h"

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "tests/comm/support/collective_contract.h"
#include "tests/comm/support/rank_threads.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

/// Ranks as threads, each with a board of its own.
void run_watched(int ranks, const std::function<void(std::unique_ptr<Communicator>, StatusBoard&)>& body) {
  auto communicators = make_thread_ranks(ranks);
  std::vector<std::exception_ptr> errors(communicators.size());
  std::vector<std::jthread> threads;
  for (size_t rank = 0; rank < communicators.size(); ++rank) {
    threads.emplace_back([&, rank] {
      StatusBoard board(ranks);
      try {
        body(watched(std::move(communicators[rank]), board), board);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  threads.clear();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

Collective finished(int group, int64_t number, CollectiveKind kind, int64_t elements = 0,
                    ElementKind element = ElementKind::none) {
  return {.group = group,
          .number = number,
          .kind = kind,
          .elements = elements,
          .element = element,
          .finished = true};
}

TEST(Watched, DoesWhatTheOneBehindItDoes) {
  run_watched(3, [](std::unique_ptr<Communicator> communicator, StatusBoard&) {
    testing::check_collectives(*communicator);
  });
}

TEST(Watched, NotesEveryCollective) {
  run_watched(2, [](std::unique_ptr<Communicator> communicator, StatusBoard& board) {
    const auto shard = torch::ones({3}), whole = torch::ones({6});
    communicator->all_reduce(whole, Reduce::sum).wait();
    communicator->reduce_scatter(whole, shard, Reduce::sum).wait();
    communicator->all_gather(shard, whole).wait();
    communicator->broadcast(torch::ones({5}, torch::kLong), 0).wait();
    communicator->barrier();
    communicator->all_reduce(torch::ones({2}, torch::kBFloat16), Reduce::max).wait();
    EXPECT_THAT(board.status(communicator->rank()).collectives,
                ElementsAre(finished(0, 1, CollectiveKind::all_reduce, 6, ElementKind::float32),
                            finished(0, 2, CollectiveKind::reduce_scatter, 6, ElementKind::float32),
                            finished(0, 3, CollectiveKind::all_gather, 6, ElementKind::float32),
                            finished(0, 4, CollectiveKind::broadcast, 5, ElementKind::int64),
                            finished(0, 5, CollectiveKind::barrier),
                            finished(0, 6, CollectiveKind::all_reduce, 2, ElementKind::bfloat16)));
  });
}

TEST(Watched, GivesEachDuplicateANumberAndANumbering) {
  run_watched(2, [](std::unique_ptr<Communicator> communicator, StatusBoard& board) {
    const auto first = communicator->duplicate(), second = communicator->duplicate();
    const auto of_first = first->duplicate();
    second->barrier();
    of_first->barrier();
    second->barrier();
    EXPECT_THAT(
        board.status(communicator->rank()).collectives,
        ElementsAre(finished(0, 1, CollectiveKind::duplicate), finished(0, 2, CollectiveKind::duplicate),
                    finished(1, 1, CollectiveKind::duplicate), finished(2, 1, CollectiveKind::barrier),
                    finished(3, 1, CollectiveKind::barrier), finished(2, 2, CollectiveKind::barrier)));
  });
}

TEST(Watched, NumbersADuplicateOnTheHostLikeAnyOther) {
  run_watched(2, [](std::unique_ptr<Communicator> communicator, StatusBoard& board) {
    communicator->duplicate_on_host()->barrier();
    EXPECT_THAT(
        board.status(communicator->rank()).collectives,
        ElementsAre(finished(0, 1, CollectiveKind::duplicate), finished(1, 1, CollectiveKind::barrier)));
  });
}

TEST(Watched, TellsACollectiveThatIsUnderWay) {
  run_watched(2, [](std::unique_ptr<Communicator> communicator, StatusBoard& board) {
    const int rank = communicator->rank();
    auto pending = communicator->all_reduce(torch::ones({4}), Reduce::sum);
    ASSERT_EQ(board.status(rank).collectives.size(), 1U);
    EXPECT_FALSE(board.status(rank).collectives[0].finished);
    EXPECT_EQ(board.status(rank).waiting, 0) << "nobody waits for it yet";
    pending.wait();
    EXPECT_TRUE(board.status(rank).collectives[0].finished);
  });
}

TEST(Watched, ShowsThatItsThreadWaitsAndForWhat) {
  run_watched(2, [](std::unique_ptr<Communicator> communicator, StatusBoard& board) {
    const int rank = communicator->rank();
    board.set(rank, Phase::computing, 1);
    if (rank == 1) {
      std::this_thread::sleep_for(milliseconds(80));
      communicator->all_reduce(torch::ones({4}), Reduce::sum).wait();
      EXPECT_LT(board.status(rank).waited, 0.04);
      return;
    }
    std::jthread onlooker([&board] {
      std::this_thread::sleep_for(milliseconds(40));
      const RankStatus status = board.status(0);
      EXPECT_GT(status.waiting, 0.01);
      ASSERT_TRUE(status.waits_for);
      EXPECT_EQ(to_text(*status.waits_for), "all_reduce #1 (4 float32)");
    });
    communicator->all_reduce(torch::ones({4}), Reduce::sum).wait();
    EXPECT_GT(board.status(rank).waited, 0.06);
    EXPECT_EQ(board.status(rank).waiting, 0);
  });
}

TEST(Watched, TellsAnotherThreadsWaitFromTheTrainingOnes) {
  run_watched(2, [](std::unique_ptr<Communicator> communicator, StatusBoard& board) {
    const int rank = communicator->rank();
    const auto saving = communicator->duplicate();
    const double waited = board.status(rank).waited;
    board.set(rank, Phase::computing, 1);
    std::jthread saver([&] {
      if (rank == 1) std::this_thread::sleep_for(milliseconds(80));
      saving->barrier();
    });
    std::this_thread::sleep_for(milliseconds(30));
    const RankStatus status = board.status(rank);
    EXPECT_EQ(status.waiting, 0);
    EXPECT_FALSE(status.is_waiting());
    if (rank == 0) {
      EXPECT_GT(status.background_waiting, 0.005);
      EXPECT_EQ(status.waits_for, (Collective{.group = 1, .number = 1, .kind = CollectiveKind::barrier}));
    }
    saver.join();
    EXPECT_EQ(board.status(rank).background_waiting, 0);
    EXPECT_EQ(board.status(rank).waited, waited);
  });
}

TEST(Watched, LeavesACollectiveThatFailedUnfinished) {
  run_watched(2, [](std::unique_ptr<Communicator> communicator, StatusBoard& board) {
    if (communicator->rank() == 1) return;  // it is gone
    EXPECT_THROW(communicator->all_reduce(torch::ones({1}), Reduce::sum).wait(), Error);
    const RankStatus status = board.status(0);
    ASSERT_EQ(status.collectives.size(), 1U);
    EXPECT_FALSE(status.collectives[0].finished);
    EXPECT_EQ(status.waiting, 0) << "nobody waits any more";
  });
}

TEST(Watched, PassesAnAbortOn) {
  run_watched(2, [](std::unique_ptr<Communicator> communicator, StatusBoard&) {
    if (communicator->rank() == 1) {
      std::this_thread::sleep_for(milliseconds(20));
      communicator->abort();
      return;
    }
    EXPECT_THROW(communicator->barrier(), Error);
  });
}

class Record final : public CollectiveObserver {
 public:
  Ticket begins(const Collective& collective) override {
    lines.push_back(text("begins ", to_text(collective)));
    return {.place = static_cast<uint64_t>(collective.number), .word = 1};
  }
  void holds_up(const Ticket& ticket) override { lines.push_back(text("holds up ", ticket.place)); }
  void lets_go(const Ticket& ticket) override { lines.push_back(text("lets go ", ticket.place)); }
  void ends(const Ticket& ticket) override { lines.push_back(text("ends ", ticket.place)); }

  std::vector<std::string> lines;
};

TEST(Observed, TellsItsObserverOfStartsAndWaits) {
  const auto record = std::make_shared<Record>();
  const auto owner = make_solo();
  const auto communicator = observed(*owner, record);
  auto first = communicator->all_reduce(torch::ones({2}), Reduce::sum);
  communicator->barrier();
  first.wait();
  EXPECT_THAT(record->lines,
              ElementsAre("begins all_reduce #1 (2 float32)", "holds up 1", "lets go 1", "begins barrier #2",
                          "holds up 2", "lets go 2", "ends 2", "holds up 1", "lets go 1", "ends 1"));
}

TEST(Observed, KeepsItsObserverWhileSomethingIsPending) {
  auto record = std::make_shared<Record>();
  const std::weak_ptr<Record> watcher = record;
  auto communicator = observed(make_solo(), std::move(record));
  auto pending = communicator->broadcast(torch::ones({2}), 0);
  communicator.reset();
  ASSERT_FALSE(watcher.expired());
  pending.wait();
  EXPECT_TRUE(watcher.expired());
}

}  // namespace
}  // namespace larmor
