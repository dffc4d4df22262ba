// Who reaches a port of a run and does not know its key: he starts nothing, ends nothing and learns nothing.
#include "tests/processes/support/unproven_peers.h"

#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/storage.h"
#include "larmor/base/text.h"

#include "tests/processes/support/two_ranks.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

constexpr int usage = 2, environment = 4;

class UnprovenPeers : public TwoRanks {
 protected:
  /// One of two agents of ours on loopback.
  Running agent(int number, int port, const Words& larmor_words,
                const std::string& start_limit = "30s") const {
    const Words place{"--nnodes",      "2",         "--node-rank",   text(number),
                      "--master-addr", "127.0.0.1", "--master-port", text(port)};
    return Running(larmor_words + place,
                   {.folder = folder(), .environment = {{"LARMOR_START_LIMIT", start_limit}}});
  }
};

/// A start as a leader of an earlier build would have asked for it.
Json start_of(const std::string& script, const fs::path& logs) {
  Json start = {{"generation", 0},
                {"world_size", 2},
                {"local_count", 1},
                {"ranks", {{{"rank", 1}, {"local_index", 0}, {"cores", Json::array()}, {"ranks", 1}}}},
                {"master_address", "127.0.0.1"},
                {"master_port", 1},
                {"threads_per_rank", 1},
                {"program", "/bin/sh"},
                {"arguments", {"-c", script}},
                {"environment", Json::object()},
                {"log_folder", logs.string()},
                {"first_rank_speaks", false}};
  return {{"start", start}};
}

TEST_F(UnprovenPeers, InTheLeadersPlaceStartNothingAndLearnNothing) {
  const auto theirs = folder() / "theirs", sign = folder() / "started";
  std::mutex mutex;
  std::string heard;
  const StandIn stand_in(0, [&](const Socket& follower) {
    follower.say("{\"welcome\": true}\n" + start_of("id >" + sign.string(), theirs).dump() + "\n");
    const auto words = follower.hear(0.3);
    follower.say("{\"over\": {\"status\": 0, \"message\": \"\"}}\n");
    const std::lock_guard lock(mutex);
    heard += words;
  });
  auto follower = agent(1, stand_in.port(), words("misled"), "2s");
  constexpr double start_and_limit = 30;
  ASSERT_TRUE(follower.ends_within(start_and_limit)) << follower.err();
  const auto end = follower.wait();
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("no leader of a larmor run answers there"), HasSubstr("hint: ")));
  EXPECT_FALSE(fs::exists(sign)) << "a program of theirs ran";
  EXPECT_FALSE(fs::exists(theirs)) << "a folder of theirs was made";
  const std::lock_guard lock(mutex);
  EXPECT_THAT(heard, Not(HasSubstr("run.folder")));
}

TEST_F(UnprovenPeers, AtTheLeadersPortEndNothingAndLearnNothing) {
  const int port = free_port();
  auto leader = agent(0, port, words("gathers"));
  Socket peer;
  ASSERT_TRUE(becomes_true(
      [&] {
        peer = Socket::connected_to(port);
        return peer.is_open();
      },
      /*seconds=*/30))
      << leader.err();
  // What ended a run, and showed one value of its configuration for each that was wrong here.
  for (const int version : {1, 2}) {
    const Json hello = {{"larmor", version},
                        {"agent", 1},
                        {"agents", 3},
                        {"host", "x"},
                        {"machine", ""},
                        {"build", "x"},
                        {"words", Json::object()},
                        {"wall", 0},
                        {"local_index", -1},
                        {"hardware", nullptr}};
    if (!peer.is_open()) peer = Socket::connected_to(port);
    peer.say(Json({{"hello", hello}}).dump() + "\n");
    bool is_over = false;
    EXPECT_EQ(peer.hear(10, &is_over), "");
    EXPECT_TRUE(is_over);
    peer = Socket();
  }
  ASSERT_FALSE(leader.ends_within(0.5)) << leader.err();
  auto follower = agent(1, port, words("gathers"));
  EXPECT_EQ(leader.wait().status, 0) << leader.err();
  EXPECT_EQ(follower.wait().status, 0) << follower.err();
  EXPECT_FALSE(fs::exists(folder() / "runs" / ".rendezvous")) << "the key goes when all have met";
}

TEST_F(UnprovenPeers, WithAnotherKeyAreNoAgents) {
  const int port = free_port();
  const auto one = folder() / "one.key", other = folder() / "other.key";
  const auto key = [&](const fs::path& file, char digit) {
    DiskStorage disk;
    write_text(disk, file, text(std::string(64, digit), '\n'));
    return std::map<std::string, std::string>{{"LARMOR_RUN_KEY_FILE", file.string()},
                                              {"LARMOR_START_LIMIT", "3s"}};
  };
  const auto place = [&](const char* number) {
    return Words{"--nnodes",      "2",         "--node-rank",   number,
                 "--master-addr", "127.0.0.1", "--master-port", text(port)};
  };
  Running leader(words("keys") + place("0"), {.folder = folder(), .environment = key(one, '1')});
  Running follower(words("keys") + place("1"), {.folder = folder(), .environment = key(other, '2')});
  const auto end = follower.wait();
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("it may have another key"), HasSubstr("LARMOR_RUN_KEY_FILE")));
  EXPECT_EQ(leader.wait().status, environment) << leader.err();
}

TEST_F(UnprovenPeers, AreKeptOutOfLaunchByAFileThatItAsksFor) {
  const auto end = larmor_program({"launch", "--nnodes", "2", "--node-rank", "0", "--master-addr",
                                   "127.0.0.1", "--ranks", "2", "--", "true"},
                                  {.folder = folder(), .environment = {{"LARMOR_START_LIMIT", "2s"}}});
  EXPECT_EQ(end.status, usage) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("LARMOR_RUN_KEY_FILE"), HasSubstr("hint: ")));
}

}  // namespace
}  // namespace larmor::testing
