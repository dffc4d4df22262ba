#include "larmor/watch/hang_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double hour = 3600;

HangLimits ten_seconds() { return parse_hang_limit("10s"); }

Collective sum_over_ranks(int64_t number, int64_t elements = 1'048'576) {
  return {.group = 0,
          .number = number,
          .kind = CollectiveKind::all_reduce,
          .elements = elements,
          .element = ElementKind::float32,
          .finished = false};
}

/// A rank at work for so long without a sign.
RankStatus at(Phase phase, double quiet, int64_t step = 17) {
  RankStatus status;
  status.phase = phase;
  status.step = step;
  status.quiet = quiet;
  for (int64_t number = 115; number <= 117; ++number) {
    status.collectives.push_back(sum_over_ranks(number));
    status.collectives.back().finished = true;
  }
  return status;
}

/// A rank that has been blocked in its next collective for so long.
RankStatus waits_in(const Collective& collective, double seconds, Phase phase = Phase::computing) {
  RankStatus status = at(phase, seconds);
  status.waiting = seconds;
  status.waits_for = collective;
  status.collectives.push_back(collective);
  return status;
}

std::optional<Hang> look(const HangLimits& limits, const std::vector<RankStatus>& ranks) {
  return HangWatch(limits).look(ranks);
}

TEST(HangWatch, NamesARankThatStoppedAndThoseThatWaitForIt) {
  const auto waiting = waits_in(sum_over_ranks(118), 11);
  const auto hang = look(ten_seconds(), {waiting, at(Phase::computing, 12), waiting, waiting});
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->rank, 1);
  EXPECT_EQ(hang->seconds, 12);
  EXPECT_EQ(hang->limit, 10);
  EXPECT_EQ(hang->what,
            "rank 1 hangs: no heartbeat for 12 s (limit 10 s) while computing step 17; ranks 0, 2, 3 wait "
            "for it in all_reduce #118 (1,048,576 float32)");
}

TEST(HangWatch, NamesARankWhoseDataNeverComes) {
  const auto waiting = waits_in(sum_over_ranks(118), 10.5);
  const auto hang = look(ten_seconds(), {at(Phase::waiting_for_data, 10.4), waiting});
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->rank, 0);
  EXPECT_THAT(hang->what, HasSubstr("while waiting for the data of step 17; rank 1 waits for it in"));
}

TEST(HangWatch, SaysNothingBeforeTheLimit) {
  EXPECT_FALSE(look(ten_seconds(), {at(Phase::computing, 9.9), waits_in(sum_over_ranks(118), 9.9)}));
  EXPECT_FALSE(look(ten_seconds(), {waits_in(sum_over_ranks(118), 9.9), waits_in(sum_over_ranks(118), 9.9)}));
  EXPECT_FALSE(look(ten_seconds(), {}));
}

TEST(HangWatch, LeavesRanksAloneThatWaitWhileAnotherGoesOn) {
  for (const Phase phase : {Phase::validating, Phase::saving, Phase::waiting_for_data}) {
    EXPECT_FALSE(look(ten_seconds(), {at(phase, 2), waits_in(sum_over_ranks(118), hour),
                                      waits_in(sum_over_ranks(118), hour)}))
        << to_text(phase);
  }
}

TEST(HangWatch, LearnsFromTheLongestSilenceOfThePhase) {
  auto slow = at(Phase::saving, 420);
  auto other = at(Phase::computing, 1);
  EXPECT_TRUE(look({}, {slow, other})) << "above the floor";
  of(other.longest_quiet, Phase::saving) = 90;  // on another rank
  EXPECT_FALSE(look({}, {slow, other})) << "below 5 x 90 s";
  slow.quiet = 451;
  const auto hang = look({}, {slow, other});
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->limit, 450);
  of(other.longest_quiet, Phase::saving) = 0;
  of(other.longest_quiet, Phase::computing) = 90;
  EXPECT_TRUE(look({}, {slow, other})) << "another phase says nothing";
}

TEST(HangWatch, NeverGoesBelowItsFloor) {
  auto status = at(Phase::computing, 299);
  of(status.longest_quiet, Phase::computing) = 0.1;
  EXPECT_FALSE(look({}, {status}));
  status.quiet = 301;
  EXPECT_TRUE(look({}, {status}));
}

TEST(HangWatch, GivesARankTimeToStart) {
  EXPECT_FALSE(look({}, {at(Phase::starting, 599, 0)}));
  EXPECT_TRUE(look({}, {at(Phase::starting, 601, 0)}));
  EXPECT_FALSE(look(ten_seconds(), {at(Phase::starting, 59, 0)}));
  EXPECT_TRUE(look(ten_seconds(), {at(Phase::starting, 61, 0)}));
  EXPECT_FALSE(look(parse_hang_limit("2h"), {at(Phase::starting, 2 * hour - 1, 0)}));
}

TEST(HangWatch, NeverSuspectsARankThatHasFinished) {
  EXPECT_FALSE(look(ten_seconds(), {at(Phase::finished, hour), at(Phase::saving, 1)}));
  EXPECT_FALSE(look(ten_seconds(), {at(Phase::finished, hour), at(Phase::finished, hour)}));
}

TEST(HangWatch, IsSilentWhenToldNeverToSpeak) {
  EXPECT_FALSE(look(parse_hang_limit("never"), {at(Phase::computing, 1000 * hour)}));
}

TEST(HangWatch, NamesTheMostSilentOfSeveral) {
  const auto hang = look(ten_seconds(), {at(Phase::computing, 11), at(Phase::computing, 14)});
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->rank, 1);
}

TEST(HangWatch, AsksTheCollectivesWhenAllRanksAreSilentWithoutWaiting) {
  // As on a GPU, whose host goes on until it needs a value.
  auto most = at(Phase::communicating, 12), behind = at(Phase::computing, 11.5);
  most.collectives.push_back(sum_over_ranks(118));
  const auto hang = look(ten_seconds(), {most, most, behind});
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->rank, 2);
  EXPECT_EQ(
      hang->what,
      "rank 2 hangs: it did not come to all_reduce #118 (1,048,576 float32), as ranks 0, 1 did; no rank has "
      "shown a heartbeat for 12 s (limit 10 s)");
  behind.quiet = 9;
  EXPECT_FALSE(look(ten_seconds(), {most, most, behind})) << "they may wait for the one that goes on";
  behind.collectives.push_back(sum_over_ranks(118));
  const auto first = look(ten_seconds(), {most, most, behind});
  ASSERT_TRUE(first) << "it has come, and they are still silent";
  EXPECT_EQ(first->rank, 0);
}

TEST(HangWatch, NamesTheRankThatCallsWithAnotherSize) {
  const auto most = waits_in(sum_over_ranks(118), 11), other = waits_in(sum_over_ranks(118, 512), 12);
  const auto hang = look(ten_seconds(), {most, most, other, most});
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->rank, 2);
  EXPECT_EQ(hang->seconds, 11);
  EXPECT_EQ(
      hang->what,
      "rank 2 hangs: it came with all_reduce #118 (512 float32) where ranks 0, 1, 3 came with all_reduce "
      "#118 (1,048,576 float32); nobody has gone on for 11 s (limit 10 s)");
}

TEST(HangWatch, OfTwoRanksTakesTheFirstAsTheMeasure) {
  const auto hang =
      look(ten_seconds(), {waits_in(sum_over_ranks(118), 11), waits_in(sum_over_ranks(118, 512), 12)});
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->rank, 1);
}

TEST(HangWatch, NamesTheRankThatCallsInAnotherOrder) {
  auto most = waits_in(sum_over_ranks(119), 11), other = waits_in(sum_over_ranks(119), 11);
  const Collective broadcast{.group = 0,
                             .number = 118,
                             .kind = CollectiveKind::broadcast,
                             .elements = 1'048'576,
                             .element = ElementKind::float32,
                             .finished = true};
  most.collectives.insert(most.collectives.end() - 1, broadcast);
  other.collectives.insert(other.collectives.end() - 1, sum_over_ranks(118));
  const auto hang = look(ten_seconds(), {other, most, most});
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->rank, 0);
  EXPECT_THAT(hang->what, HasSubstr("it came with all_reduce #118"));
  EXPECT_THAT(hang->what, HasSubstr("ranks 1, 2 came with broadcast #118"));
}

TEST(HangWatch, NamesTheRankThatIsOneCollectiveBehind) {
  auto behind = waits_in(sum_over_ranks(117), 11);
  behind.collectives.erase(behind.collectives.end() - 2);
  const auto waiting = waits_in(sum_over_ranks(118), 11);
  const auto hang = look(ten_seconds(), {behind, waiting});
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->rank, 0);
  EXPECT_THAT(hang->what,
              HasSubstr("rank 0 hangs: it did not come to all_reduce #118 (1,048,576 float32), as "
                        "rank 1 did, and waits in all_reduce #117"));
}

TEST(HangWatch, NamesTheRankThatIsAheadOfAllOthers) {
  Collective twin = sum_over_ranks(5);
  twin.group = 1;
  const auto most = waits_in(twin, 11), ahead = waits_in(sum_over_ranks(118), 11);
  const auto hang = look(ten_seconds(), {most, ahead, most});
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->rank, 1);
  EXPECT_THAT(hang->what, HasSubstr("it did not come to all_reduce #5 (1,048,576 float32) of group 1"));
}

TEST(HangWatch, DoesNotBlameASlowSaveForADeadNetwork) {
  auto first = waits_in(sum_over_ranks(118), 11);
  const auto second = first;
  first.collectives.push_back({.group = 2, .number = 9, .kind = CollectiveKind::barrier});
  const auto hang = look(ten_seconds(), {first, second});
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->rank, -1);
  EXPECT_EQ(
      hang->what,
      "all ranks hang: each waits for the others in all_reduce #118 (1,048,576 float32), for 11 s (limit "
      "10 s); what connects them has stopped");
}

TEST(HangWatch, TakesARankForWaitingThatWaitsForTheEndOfASave) {
  auto writes = at(Phase::saving, 12);
  auto waits = at(Phase::saving, 13);
  waits.background_waiting = 11;
  waits.waits_for = Collective{.group = 2, .number = 9, .kind = CollectiveKind::barrier};
  waits.collectives.push_back(*waits.waits_for);
  const auto hang = look(ten_seconds(), {waits, writes});
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->rank, 1);
  EXPECT_THAT(hang->what, HasSubstr("rank 0 waits for it in barrier #9 of group 2"));
}

TEST(HangWatch, NamesWhoWaitsForARankThatHasFinished) {
  const auto waiting = waits_in(sum_over_ranks(118), 11);
  const auto hang = look(ten_seconds(), {at(Phase::finished, 20), waiting, waiting});
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->rank, 1);
  EXPECT_THAT(hang->what, HasSubstr("waits for rank 0, which has finished, in all_reduce #118"));
}

TEST(HangWatch, AllowsAllToWaitForALongTransfer) {
  auto first = waits_in(sum_over_ranks(118), 1200), second = first;
  EXPECT_TRUE(look({}, {first, second}));
  first.longest_wait = hour;  // for a rank that was late
  EXPECT_TRUE(look({}, {first, second})) << "the other had never to wait long";
  EXPECT_TRUE(look({}, {second, first}));
  second.longest_wait = 250;
  EXPECT_FALSE(look({}, {first, second}));
}

TEST(HangWatch, ToleratesCollectivesThatAreNoLongerKnown) {
  auto first = waits_in(sum_over_ranks(118), 11), second = first;
  first.collectives.clear();
  for (int64_t number = 55; number <= 118; ++number) first.collectives.push_back(sum_over_ranks(number));
  for (auto& collective : first.collectives) collective.finished = collective.number < 118;
  Collective old = sum_over_ranks(2);
  old.group = 3;
  second.collectives.insert(second.collectives.begin(), old);
  second.collectives.insert(second.collectives.begin(), sum_over_ranks(20, 4));
  const auto hang = look(ten_seconds(), {first, second});
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->rank, -1) << hang->what;
}

TEST(HangWatch, AccusesNobodyOfWhatItsStatusLeftOut) {
  auto first = waits_in(sum_over_ranks(118), 11), second = first;
  second.collectives.clear();
  const auto hang = look(ten_seconds(), {first, second});
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->rank, -1) << hang->what;
}

TEST(HangWatch, NamesManyRanksInFewWords) {
  std::vector<RankStatus> ranks(512, waits_in(sum_over_ranks(118), 11));
  ranks[7] = at(Phase::computing, 12);
  const auto hang = look(ten_seconds(), ranks);
  ASSERT_TRUE(hang);
  EXPECT_THAT(hang->what, HasSubstr("ranks 0-6, 8-511 wait for it"));
}

TEST(ParseHangLimit, ReadsWhatTheConfigSays) {
  EXPECT_FALSE(parse_hang_limit("auto").fixed);
  EXPECT_FALSE(parse_hang_limit("auto").never);
  EXPECT_TRUE(parse_hang_limit("never").never);
  EXPECT_EQ(parse_hang_limit("90s").fixed, 90);
  EXPECT_EQ(parse_hang_limit("2h").fixed, 7200);
  for (const char* wrong : {"", "0", "0s", "10", "5ep", "100st", "soon", "-3s"})
    EXPECT_THROW(parse_hang_limit(wrong), Error) << wrong;
}

TEST(CollectivesReport, ShowsEachRankAndWhereTheyDiffer) {
  const auto waiting = waits_in(sum_over_ranks(118), 11);
  auto other = at(Phase::computing, 12);
  other.collectives[2].elements = 512;
  const std::string report = collectives_report({waiting, other, waiting});
  EXPECT_THAT(report, HasSubstr("rank 1    computing         step 17       last heartbeat 12.0 s ago\n"));
  EXPECT_THAT(report, HasSubstr("waits 11.0 s in all_reduce #118 (1,048,576 float32)\n"));
  EXPECT_THAT(report, HasSubstr("the last collectives of group 0 (training)\n"));
  EXPECT_THAT(report, HasSubstr("  #116      all ranks: all_reduce #116 (1,048,576 float32)\n"));
  EXPECT_THAT(report,
              HasSubstr("  #117      ranks 0, 2: all_reduce #117 (1,048,576 float32) | rank 1: all_reduce "
                        "#117 (512 float32)\n"));
  EXPECT_THAT(report,
              HasSubstr("  #118      ranks 0, 2: all_reduce #118 (1,048,576 float32), not ended | rank 1: "
                        "not begun\n"));
  EXPECT_THAT(collectives_report({RankStatus()}), Not(HasSubstr("group")));
}

}  // namespace
}  // namespace larmor
