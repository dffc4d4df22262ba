#include "larmor/launch/hosts/local_host.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/process/descriptor.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"
#include "larmor/watch/stack_dump.h"

#include "tests/launch/support/acting.h"
#include "tests/launch/support/agents.h"
#include "tests/support/faults/process_call_watch.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LocalHosts : public ::testing::Test {
 protected:
  LocalHost& host() { return host_; }
  GroupStart start_of(const std::vector<int>& ranks, const std::string& script) const {
    return script_start(ranks, script, scratch_.path() / "logs");
  }
  std::vector<RankEnding> endings(size_t count) {
    std::vector<RankEnding> all;
    EXPECT_TRUE(happens([&] {
      for (auto& ending : host_.take_endings()) all.push_back(std::move(ending));
      return all.size() >= count;
    }));
    return all;
  }
  std::string log_of(int rank) const {
    return read_text(scratch_.path() / "logs" / text("rank-", rank, ".log"));
  }
  std::filesystem::path log_file(int rank) const {
    return scratch_.path() / "logs" / text("rank-", rank, ".log");
  }

 private:
  ScratchFolder scratch_;
  SignalPipe signals_;
  LocalHost host_{&signals_, /*console=*/false, {{"ONLY_HERE", "yes"}}};
};

TEST_F(LocalHosts, TellRanksWhoTheyAreInOurWordsAndInTorchruns) {
  GroupStart start = start_of({3}, "env");
  start.world_size = 8;
  start.local_count = 4;
  start.ranks[0].local_index = 2;
  start.generation = 5;
  start.master_address = "10.0.0.7";
  start.master_port = 4711;
  start.threads_per_rank = 6;
  start.environment = {{"FOR_ALL", "words"}};
  host().start(start);
  endings(1);
  const std::string environment = text("\n", log_of(3));
  for (const char* const line :
       {"LARMOR_RANK=3", "LARMOR_WORLD_SIZE=8", "LARMOR_LOCAL_RANK=2", "LARMOR_LOCAL_WORLD_SIZE=4",
        "LARMOR_MASTER_ADDR=10.0.0.7", "LARMOR_MASTER_PORT=4711", "LARMOR_GENERATION=5", "RANK=3",
        "WORLD_SIZE=8", "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=4", "MASTER_ADDR=10.0.0.7", "MASTER_PORT=4711",
        "OMP_NUM_THREADS=6", "MKL_NUM_THREADS=6", "CUDA_DEVICE_ORDER=PCI_BUS_ID", "FOR_ALL=words",
        "ONLY_HERE=yes"}) {
    EXPECT_THAT(environment, HasSubstr(text("\n", line, "\n")));
  }
  EXPECT_THAT(environment, ::testing::Not(HasSubstr("LARMOR_STORE_FD")));
}

TEST_F(LocalHosts, HandTheStoresKeyToRanksThatMeetAsADescriptorAlone) {
  const auto script =
      "key=${LARMOR_STORE_KEY_FD:-none}; echo $key; [ $key = none ] || od -An -v -tx1 /proc/self/fd/$key | "
      "tr -d ' \\n'; "
      "env";
  GroupStart several = start_of({0, 1}, script), alone = start_of({0}, script);
  several.store_key = alone.store_key = RunKey::draw();
  host().start(several);
  endings(2);
  for (const int rank : {0, 1}) {
    const auto log = log_of(rank);
    EXPECT_THAT(log, HasSubstr(several.store_key->hex()));
    EXPECT_THAT(log.substr(log.find(several.store_key->hex()) + 64),
                ::testing::Not(HasSubstr(several.store_key->hex())))
        << "not in its environment";
  }
  setenv("LARMOR_STORE_KEY_FD", "77", 1);  // another start's around this one
  host().start(alone);
  endings(1);
  unsetenv("LARMOR_STORE_KEY_FD");
  EXPECT_THAT(log_of(0), HasSubstr("\nnone\n")) << log_of(0);
}

TEST_F(LocalHosts, HandTheStoreToRankZeroAlone) {
  const int port = host().open_store("127.0.0.1");
  std::string reason;
  EXPECT_TRUE(try_to_connect("127.0.0.1", port, milliseconds(1000), reason).is_open());
  host().start(start_of({0, 1},
                        "echo store ${LARMOR_STORE_FD:-none}; "
                        "echo ready; exec sleep 600"));
  wait_for_words(log_file(0), "ready");
  wait_for_words(log_file(1), "ready");
  EXPECT_THAT(log_of(0), ::testing::Not(HasSubstr("none")));
  EXPECT_THAT(log_of(1), HasSubstr("store none\n"));
  EXPECT_TRUE(try_to_connect("127.0.0.1", port, milliseconds(1000), reason).is_open());
  host().send(0, SIGKILL);
  endings(1);
  EXPECT_FALSE(try_to_connect("127.0.0.1", port, milliseconds(1000), reason).is_open())
      << "a rank that comes late has to be refused at once";
}

TEST_F(LocalHosts, LeaveStacksOutOfTheLastLinesForTheCauseAboveThem) {
  host().start(
      start_of({0}, "echo cause; for i in $(seq 300); do echo \"frame #$i: f(int) + 0x9d\"; done; exit 1"));
  const auto all = endings(1);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].last_lines, "cause");
}

TEST_F(LocalHosts, ReportTheEndOfEachRankOnce) {
  host().start(start_of({0, 1}, "for i in $(seq 30); do echo line $i; done; exit 4"));
  const auto all = endings(2);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].ending.status, 4);
  EXPECT_FALSE(all[0].lost);
  EXPECT_EQ(split(all[0].last_lines, '\n').size(), 20U);
  EXPECT_THAT(all[0].last_lines, ::testing::EndsWith("line 30"));
  EXPECT_THAT(host().take_endings(), IsEmpty());
  EXPECT_THAT(host().statuses(), IsEmpty());
  EXPECT_EQ(host().process_of(0), std::nullopt);
}

TEST_F(LocalHosts, SendNoSignalToANumberThatIsNoLongerTheirs) {
  testing::signalled_after_reaping();
  host().start(start_of({0, 1}, "sleep 600 & echo $!; exit 4"));
  endings(2);
  for (const int rank : {0, 1}) {
    const pid_t left = std::stoi(log_of(rank));
    EXPECT_TRUE(happens([&] { return kill(left, 0) != 0 || larmor::process_state(left) == "ended"; }))
        << "what a rank has started ends with it";
    host().send(rank, SIGTERM);
  }
  EXPECT_THAT(testing::signalled_after_reaping(), IsEmpty());
}

TEST_F(LocalHosts, TakeRanksOfOneProcessTogether) {
  GroupStart start = start_of({0}, "trap 'exit 75' TERM; echo ready; while :; do sleep 0.05; done");
  start.world_size = start.local_count = start.ranks[0].ranks = 3;
  host().start(start);
  wait_for_words(log_file(0), "ready");
  EXPECT_THAT(host().statuses(), SizeIs(3));
  ASSERT_TRUE(host().process_of(0).has_value());
  EXPECT_EQ(host().process_of(2), host().process_of(0));
  EXPECT_EQ(host().process_of(3), std::nullopt);
  EXPECT_TRUE(happens([&] { return host().process_state(1) == "sleeping"; }));
  for (const int rank : {2, 1}) host().send(rank, SIGKILL);
  host().send(0, SIGTERM);
  const auto all = endings(1);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].rank, 0);
  EXPECT_EQ(all[0].ranks, 3);
  EXPECT_EQ(all[0].ending.status, 75) << "one signal a process, for a second means another thing";
  EXPECT_FALSE(std::filesystem::exists(log_file(1)));
  EXPECT_THAT(host().statuses(), IsEmpty());
}

TEST_F(LocalHosts, KnowTheStateOfAProcess) {
  host().start(start_of({0}, "echo ready; exec sleep 600"));
  wait_for_words(log_file(0), "ready");
  EXPECT_TRUE(happens([&] { return host().process_state(0) == "sleeping"; }));
  host().send(0, SIGSTOP);
  EXPECT_TRUE(happens([&] { return host().process_state(0) == "stopped by a signal"; }));
  EXPECT_EQ(host().process_state(7), "");
  host().send(0, SIGKILL);
  EXPECT_EQ(endings(1).at(0).ending.signal, SIGKILL);
}

TEST_F(LocalHosts, LeaveNoRankBehindWhenAnotherCannotBeStarted) {
  GroupStart start = start_of({0, 1}, "echo ready $$; exec sleep 600");
  start.ranks[1].cores = {100'000};  // there is no such core
  EXPECT_THROW(host().start(start), Error);
  EXPECT_THAT(host().statuses(), IsEmpty());
  EXPECT_THAT(host().take_endings(), IsEmpty());
  EXPECT_EQ(host().process_of(0), std::nullopt);
  host().start(start_of({0}, "exit 0"));
  EXPECT_TRUE(endings(1).at(0).ending.ok());
}

TEST_F(LocalHosts, WaitForNobodyWhoReadsALog) {
  std::filesystem::create_directories(log_file(0).parent_path());
  ASSERT_EQ(mkfifo(log_file(0).c_str(), 0600), 0);
  EXPECT_THROW(host().start(start_of({0}, "exit 0")), Error);
  const Descriptor reader(open(log_file(0).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_THROW(host().start(start_of({0}, "exit 0")), Error) << "nor write into what is no file";
}

TEST_F(LocalHosts, ReportSignalsThatTheirAgentWasSent) {
  EXPECT_EQ(host().take_signal(), 0);
  raise(SIGTERM);
  EXPECT_EQ(host().take_signal(), SIGTERM);
  EXPECT_EQ(host().take_signal(), 0);
}

}  // namespace
}  // namespace larmor
