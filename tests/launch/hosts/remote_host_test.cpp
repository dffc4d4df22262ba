#include "larmor/launch/hosts/remote_host.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "larmor/base/text.h"

#include "tests/launch/support/agents.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A host of ranks 2 and 3, and the channel of its member, which the test plays.
class RemoteHosts : public ::testing::Test {
 protected:
  RemoteHost host_over(milliseconds silence = milliseconds(60'000)) {
    RemoteHost host(leaders_end(std::move(ends_.here)), "node-7", silence);
    host.start(script_start({2, 3}, "true", "/nowhere"));
    return host;
  }
  Channel& member() { return member_; }
  void say_status(int rank, Phase phase, int64_t step) {
    RankStatus status;
    status.phase = phase;
    status.step = step;
    Json message;
    message["statuses"][text(rank)] = to_json(status, /*with_collectives=*/true);
    message["states"][text(rank)] = "sleeping";
    member_.send(message);
  }

 private:
  Ends ends_ = connect_ends();
  Channel member_ = members_end(std::move(ends_.there));
};

TEST_F(RemoteHosts, PassOnWhatTheSupervisorSays) {
  RemoteHost host = host_over();
  host.send(3, SIGTERM);
  host.send(9, SIGTERM);
  host.beat();
  host.dismiss(75, "stopped");
  const auto messages = member().receive();
  ASSERT_THAT(messages, SizeIs(4));
  EXPECT_EQ(group_start_from_json(messages[0].at("start")).ranks[1].rank, 3);
  EXPECT_EQ(messages[1], Json({{"send", {{"rank", 3}, {"signal", SIGTERM}}}}));
  EXPECT_TRUE(messages[2].contains("beat"));
  EXPECT_EQ(messages[3], Json({{"over", {{"status", 75}, {"message", "stopped"}}}}));
  EXPECT_EQ(host.name(), "node-7");
}

TEST_F(RemoteHosts, ReportWhatTheMemberSays) {
  RemoteHost host = host_over();
  EXPECT_THAT(host.take_endings(), IsEmpty());
  EXPECT_THAT(host.statuses(), IsEmpty());
  say_status(2, Phase::computing, 17);
  member().send({{"signal", SIGUSR1}});
  member().send({{"ended", to_json(RankEnding{.rank = 3, .ending = {3, 0}, .last_lines = "no such file"})}});
  const auto endings = host.take_endings();
  ASSERT_THAT(endings, SizeIs(1));
  EXPECT_EQ(endings[0].ending.status, 3);
  EXPECT_EQ(endings[0].last_lines, "(on node-7)\nno such file");
  EXPECT_FALSE(endings[0].lost);
  EXPECT_EQ(host.take_signal(), SIGUSR1);
  EXPECT_EQ(host.take_signal(), 0);
  ASSERT_THAT(host.statuses(), SizeIs(1));
  EXPECT_EQ(host.statuses().at(2).step, 17);
  EXPECT_EQ(host.process_state(2), "sleeping");
  EXPECT_EQ(host.process_state(3), "");
  member().send({{"ended", to_json(RankEnding{.rank = 3})}});
  EXPECT_THAT(host.take_endings(), IsEmpty()) << "it has ended already";
}

TEST_F(RemoteHosts, ReportTheEndOfAProcessOfSeveralRanksOnce) {
  RemoteHost host = host_over();
  say_status(3, Phase::computing, 17);
  member().send({{"ended", to_json(RankEnding{.rank = 2, .ranks = 2, .ending = {3, 0}})}});
  const auto endings = host.take_endings();
  ASSERT_THAT(endings, SizeIs(1));
  EXPECT_EQ(endings[0].ranks, 2);
  EXPECT_THAT(host.statuses(), IsEmpty());
  member().send({{"ended", to_json(RankEnding{.rank = 3})}});
  EXPECT_THAT(host.take_endings(), IsEmpty());
}

TEST_F(RemoteHosts, ReportAllTheirRanksLostWhenTheConnectionEnds) {
  RemoteHost host = host_over();
  say_status(2, Phase::saving, 40);
  EXPECT_THAT(host.take_endings(), IsEmpty());
  member().receive();
  member().close("the test cuts it");
  const auto endings = host.take_endings();
  ASSERT_THAT(endings, SizeIs(2));
  EXPECT_TRUE(host.is_lost());
  for (const auto& ending : endings) {
    EXPECT_TRUE(ending.lost);
    EXPECT_EQ(ending.evidence, "its host node-7 was lost: the connection was closed");
  }
  EXPECT_EQ(endings[0].phase, Phase::saving);
  EXPECT_EQ(endings[0].step, 40);
  EXPECT_EQ(endings[1].phase, Phase::starting);
  EXPECT_THAT(host.take_endings(), IsEmpty());
  EXPECT_THAT(host.descriptors(), IsEmpty());
  host.beat();
  host.send(2, SIGTERM);
}

TEST_F(RemoteHosts, AreLostAfterTooLongASilence) {
  RemoteHost host = host_over(milliseconds(150));
  for (int i = 0; i < 6; ++i) {
    std::this_thread::sleep_for(milliseconds(40));
    member().send({{"statuses", Json::object()}, {"states", Json::object()}});
    ASSERT_THAT(host.take_endings(), IsEmpty());
  }
  std::this_thread::sleep_for(milliseconds(200));
  const auto endings = host.take_endings();
  ASSERT_THAT(endings, SizeIs(2));
  EXPECT_THAT(endings[0].evidence, AllOf(HasSubstr("node-7"), HasSubstr("it has been silent for ")));
  member().receive();
  EXPECT_TRUE(member().is_closed()) << "one that only slept has to end its ranks";
}

TEST_F(RemoteHosts, TakeNoSilenceFromAMemberWhoseWordsWaitToBeRead) {
  RemoteHost host = host_over(milliseconds(100));
  say_status(2, Phase::computing, 1);
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_THAT(host.take_endings(), IsEmpty());
  EXPECT_FALSE(host.is_lost());
}

TEST_F(RemoteHosts, AreLostWhenTheySpeakNonsense) {
  Json beyond = to_json(RankEnding{.rank = 0});
  beyond["rank"] = 1e300;
  Json negative = to_json(RankEnding{.rank = 0});
  negative["rank"] = INT64_MIN;
  Json endless = to_json(RankEnding{.rank = 0});
  endless["ranks"] = UINT64_MAX;
  const Json nonsense[] = {{{"ended", 3}},
                           {{"ended", beyond}},
                           {{"ended", negative}},
                           {{"ended", endless}},
                           {{"signal", "TERM"}},
                           {{"signal", 1e300}},
                           {{"signal", 4711}},
                           {{"statuses", {{"99999999999999999999", 1}}}},
                           {{"statuses", {{"-1", 1}}}},
                           {{"statuses", {{"two", 1}}}},
                           {{"statuses", {{"2", {{"phase", 99}}}}}, {"states", Json::object()}},
                           {{"statuses", Json::object()}}};
  for (const Json& message : nonsense) {
    auto [here, there] = connect_ends();
    RemoteHost host(leaders_end(std::move(here)), "node-7", milliseconds(60'000));
    host.start(script_start({0}, "true", "/nowhere"));
    Channel member = members_end(std::move(there));
    member.send(message);
    const auto endings = host.take_endings();
    ASSERT_THAT(endings, SizeIs(1)) << message;
    EXPECT_THAT(endings[0].evidence, HasSubstr("it sent something that is no message of larmor"));
  }
}

TEST_F(RemoteHosts, KeepNothingOfRanksThatTheyDoNotRun) {
  RemoteHost host = host_over();
  for (int rank = 0; rank < 1000; ++rank) {
    say_status(rank, Phase::computing, rank);
    member().send({{"signal", SIGUSR1}});
    EXPECT_THAT(host.take_endings(), IsEmpty());
  }
  EXPECT_THAT(host.statuses(), SizeIs(2));
  EXPECT_EQ(host.process_state(999), "");
  EXPECT_EQ(host.process_state(3), "sleeping");
  EXPECT_FALSE(host.is_lost());
  int signals = 0;
  while (host.take_signal() != 0) ++signals;
  EXPECT_EQ(signals, 64);
}

TEST_F(RemoteHosts, ForgetTheLastStartInTheNext) {
  RemoteHost host = host_over();
  say_status(2, Phase::computing, 17);
  for (const int rank : {2, 3}) member().send({{"ended", to_json(RankEnding{.rank = rank})}});
  EXPECT_THAT(host.take_endings(), SizeIs(2));
  host.start(script_start({2}, "true", "/nowhere"));
  EXPECT_THAT(host.statuses(), IsEmpty());
  EXPECT_EQ(host.process_state(2), "");
  member().send({{"ended", to_json(RankEnding{.rank = 2})}});
  EXPECT_THAT(host.take_endings(), SizeIs(1));
}

}  // namespace
}  // namespace larmor
