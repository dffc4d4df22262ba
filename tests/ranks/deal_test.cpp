// Pieces that are dealt out to ranks: this program again, in one test of this file.
#include "larmor/ranks/deal.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/device/heartbeat.h"
#include "larmor/ranks/run.h"

namespace larmor::ranks {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A rank that answers with the number of each piece, after it has done with it what the request says: at
/// `piece`, or at each (-1). With `mark`, one that ends leaves that file, and finds it when it is started
/// again.
TEST(DealtRank, DoesAsItIsTold) {
  const auto job = inherited_job();
  if (!job) GTEST_SKIP() << "this is what the ranks of the other tests do";
  const auto& request = job->request;
  const std::string act = request.at("act"), mark = request.value("mark", "");
  const auto do_at = [&](int64_t piece) {
    const int64_t at = request.at("piece");
    if (at >= 0 && at != piece) return;
    if (act == "kill") raise(SIGKILL);
    if (act == "stop") raise(SIGSTOP);
    if (act == "beat") {
      for (int beat = 0; beat < 6; ++beat) {
        std::this_thread::sleep_for(std::chrono::milliseconds(400));
        send_heartbeat();
      }
    }
    if (act == "sleep" && job->rank->index == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (act == "say") std::fputs("a word\n", stderr);
    if (act == "end") {
      std::ofstream{mark};
      std::_Exit(7);
    }
  };
  if (act == "stop as it starts" && job->rank->index == 1) raise(SIGSTOP);
  if (act == "unfit" || (!mark.empty() && std::filesystem::exists(mark))) std::_Exit(7);
  run(
      *job,
      [&] {
        return [&](LiveRank& rank) {
          std::vector<int64_t> expected;
          serve(rank, [&](int64_t piece, const std::vector<int64_t>& upcoming) {
            do_at(piece);
            const bool is_surprise = expected != std::vector{piece};
            expected = upcoming;
            return Json{{"n", piece}, {"surprise", is_surprise}};
          });
        };
      },
      [](const std::exception_ptr&) { std::_Exit(3); });
}

struct Act {
  std::string act;
  int64_t piece = -1;
  std::string mark = {};
};

class Deal : public ::testing::Test {
 protected:
  std::vector<Dealt> deal_out(std::size_t count, int ranks, const Act& act) {
    Job job{.request = {{"act", act.act}, {"piece", act.piece}, {"mark", act.mark}},
            .words = {"--gtest_brief=1", "--gtest_filter=DealtRank.DoesAsItIsTold"}};
    job.plan.global_batch = ranks;
    for (int rank = 0; rank < ranks; ++rank) job.plan.ranks.push_back({.device = -1, .cores = {}});
    job.hang = {.floor = 1.5, .start = 8};
    return deal(job, count,
                {.before = [&](std::size_t) { ++given_; },
                 .said = [&](const std::string& lines) { said_ += lines + "\n"; },
                 .name = [](std::size_t piece) { return "piece " + std::to_string(piece); }});
  }
  static void expect_done(const std::vector<Dealt>& all, std::size_t but) {
    for (std::size_t piece = 0; piece < all.size(); ++piece) {
      if (piece == but) continue;
      EXPECT_EQ(all[piece].end, Dealt::End::done) << piece;
      EXPECT_EQ(all[piece].result.value("n", std::size_t{99}), piece);
    }
  }
  static constexpr std::size_t none = 1000;

  int given_ = 0;
  std::string said_;
};

TEST_F(Deal, GivesResultsInTheOrderOfThePiecesWhoeverIsFaster) {
  const auto all = deal_out(7, 3, {.act = "sleep"});
  ASSERT_EQ(all.size(), 7U);
  expect_done(all, none);
  EXPECT_EQ(given_, 7);
}

TEST_F(Deal, TellsARankWhatComesNextUnlessAnotherTakesItMeanwhile) {
  const auto alone = deal_out(5, 1, {.act = "nothing"});
  for (std::size_t piece = 0; piece < alone.size(); ++piece)
    EXPECT_EQ(alone[piece].result.at("surprise"), piece == 0) << piece;
  expect_done(deal_out(4, 2, {.act = "sleep"}), none);
}

TEST_F(Deal, LosesThePieceOfARankThatIsKilledAndNothingElse) {
  for (const int ranks : {1, 2}) {
    const auto all = deal_out(6, ranks, {.act = "kill", .piece = 2});
    expect_done(all, 2);
    EXPECT_EQ(all[2].end, Dealt::End::lost);
    EXPECT_EQ(all[2].exit, Exit::rank_lost);
    EXPECT_THAT(all[2].loss, AllOf(HasSubstr("ended with it"), HasSubstr("SIGKILL")));
  }
}

TEST_F(Deal, NamesARankThatStandsStillAndLosesThePieceThatItWasAt) {
  for (const int ranks : {1, 2}) {
    const auto all = deal_out(6, ranks, {.act = "stop", .piece = 2});
    expect_done(all, 2);
    EXPECT_EQ(all[2].end, Dealt::End::hung);
    EXPECT_EQ(all[2].exit, Exit::rank_lost);
    EXPECT_THAT(all[2].loss,
                AllOf(HasSubstr("hangs: no heartbeat for "),
                      HasSubstr("s (limit 1.5 s) while computing it; its process is stopped by a signal")));
  }
}

TEST_F(Deal, GoesOnWithoutARankThatStandsStillWhileItStarts) {
  ::testing::internal::CaptureStderr();
  const auto all = deal_out(3, 2, {.act = "stop as it starts"});
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("rank 1 hangs: no heartbeat for "),
                    HasSubstr("while starting; its process is stopped by a signal")));
  expect_done(all, none);
}

TEST_F(Deal, WaitsForARankThatShowsHeartbeats) { expect_done(deal_out(1, 1, {.act = "beat"}), none); }

TEST_F(Deal, ShowsWhatEveryRankPrints) {
  expect_done(deal_out(4, 2, {.act = "say"}), none);
  std::size_t words = 0;
  for (auto at = said_.find("a word"); at != std::string::npos; at = said_.find("a word", at + 1)) ++words;
  EXPECT_EQ(words, 4U) << said_;
}

/// As a rank whose GPU is lost: it ends at a piece, and none can be started there again.
TEST_F(Deal, LeavesWhatWasDoneWhereNoRankIsLeft) {
  const ScratchFolder scratch;
  const auto all = deal_out(5, 1, {.act = "end", .piece = 2, .mark = (scratch.path() / "lost").string()});
  EXPECT_EQ(all[1].end, Dealt::End::done);
  EXPECT_THAT(all[2].loss, HasSubstr("rank 0 ended with it: exit status 7"));
  for (const std::size_t piece : {3U, 4U}) {
    EXPECT_EQ(all[piece].end, Dealt::End::not_tried);
    EXPECT_EQ(all[piece].exit, Exit::checkpoint);
  }
}

TEST_F(Deal, EndsAsItsRanksDidWhereNoneCouldStart) {
  try {
    deal_out(3, 2, {.act = "unfit"});
    FAIL() << "nobody was there";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::checkpoint);
    EXPECT_THAT(error.message(), HasSubstr("3 of 3 cases"));
  }
}

}  // namespace
}  // namespace larmor::ranks
