// Ten thousand connections of unproven peers, rubbish and repeated words against a gathering and a running
// job.
#include <atomic>
#include <iostream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/storage.h"
#include "larmor/base/text.h"

#include "tests/processes/support/two_ranks.h"
#include "tests/processes/support/unproven_peers.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

constexpr size_t connections = 5000, most_growth = size_t{64} << 20, answer_bytes = 48;
constexpr int steps = 400;

class StrangersLong : public TwoRanks {
 protected:
  void SetUp() override {
    DiskStorage disk;
    write_text(disk, key(), text(std::string(64, 'd'), '\n'));
  }
  fs::path key() const { return folder() / "run.key"; }
  Running agent(int number, int port, const Words& larmor_words) const {
    const Words place{"--nnodes",      "2",         "--node-rank",   text(number),
                      "--master-addr", "127.0.0.1", "--master-port", text(port)};
    return Running(larmor_words + place, {.folder = folder(),
                                          .environment = {{"LARMOR_START_LIMIT", "120s"},
                                                          {"LARMOR_RUN_KEY_FILE", key().string()}}});
  }
  /// What an agent that knew the key has said, on each of its connections.
  std::vector<std::vector<std::string>> record() const {
    const int port = free_port();
    const Recorder recorder(port);
    auto leader = agent(0, port, words("recorded"));
    EXPECT_TRUE(becomes_true([&] { return Socket::connected_to(port).is_open(); }, /*seconds=*/60));
    auto follower = agent(1, recorder.port(), words("recorded"));
    EXPECT_EQ(leader.wait().status, 0) << leader.err();
    EXPECT_EQ(follower.wait().status, 0) << follower.err();
    return recorder.said();
  }
  void expect_nothing_learnt(const Crowd& crowd) const {
    EXPECT_LE(crowd.most_heard, answer_bytes);
    for (const auto* word : {"run.", "train", "latent", "step", "{\"", "refused", "rank", "larmor"})
      EXPECT_THAT(crowd.all_heard, Not(HasSubstr(word)));
    EXPECT_THAT(crowd.all_heard, Not(HasSubstr(folder().string())));
  }
};

int process_of_rank_zero(const Running& leader) {
  int found = 0;
  becomes_true(
      [&] {
        for (const int process : children_of(leader.id())) {
          if (variable_of(process, "LARMOR_RANK") == "0") found = process;
        }
        return found != 0;
      },
      /*seconds=*/120);
  return found;
}

void show(const char* where, const Crowd& crowd, size_t before, size_t after) {
  std::cout << where << ": " << crowd.connections << " connections, " << crowd.refused << " refused, at most "
            << crowd.most_heard << " bytes heard on one, memory " << before / 1024 << " KiB before, "
            << after / 1024 << " KiB after\n";
}

TEST_F(StrangersLong, LeaveAGatheringAndARunningJobUnharmed) {
  const auto recorded = record();
  ASSERT_FALSE(recorded.empty());
  const int port = free_port();
  auto leader = agent(0, port, words("besieged", steps));
  ASSERT_TRUE(becomes_true([&] { return Socket::connected_to(port).is_open(); }, /*seconds=*/60));

  const auto before = memory_of(leader.id());
  const auto gathering = crowd(port, connections, recorded, 1);
  const auto after = memory_of(leader.id());
  show("gathering", gathering, before, after);
  EXPECT_LE(after, before + most_growth);
  EXPECT_EQ(gathering.refused, 0U);
  expect_nothing_learnt(gathering);
  ASSERT_FALSE(leader.ends_within(0.1)) << leader.err();

  // The other agent has to come in through a crowd.
  std::atomic<bool> is_inside = false;
  std::jthread more([&] {
    for (unsigned seed = 2; !is_inside; ++seed) crowd(port, 50, recorded, seed);
  });
  auto follower = agent(1, port, words("besieged", steps));
  const bool begun = reaches_step(run("besieged"), 6, /*seconds=*/180);
  is_inside = true;
  more.join();
  ASSERT_TRUE(begun) << leader.err() << follower.err();

  const int rank = process_of_rank_zero(leader);
  const int store = std::stoi(variable_of(rank, "LARMOR_MASTER_PORT"));
  const auto rank_before = memory_of(rank);
  const auto running = crowd(store, connections, recorded, 3);
  const auto rank_after = memory_of(rank);
  show("running job", running, rank_before, rank_after);
  EXPECT_LT(newest_step(run("besieged")), steps) << "the job was to run meanwhile";
  EXPECT_LE(rank_after, rank_before + most_growth);
  EXPECT_EQ(running.refused, 0U);
  expect_nothing_learnt(running);

  EXPECT_EQ(leader.wait().status, 0) << leader.err();
  EXPECT_EQ(follower.wait().status, 0) << follower.err();
  const ScratchFolder elsewhere;
  const auto end = larmor_program(small_training("whole", 2, steps), {.folder = elsewhere.path()});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(trained_state(run("besieged")), trained_state(elsewhere.path() / "runs" / "whole"));
}

}  // namespace
}  // namespace larmor::testing
