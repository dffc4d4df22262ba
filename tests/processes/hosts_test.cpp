// Ranks on two hosts that see one another over a wire of their own.
#include <chrono>
#include <csignal>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/network_hosts.h"
#include "tests/processes/support/toy_program.h"
#include "tests/processes/support/two_ranks.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

constexpr int usage = 2, environment = 4, stopped = 75;

class TwoHosts : public TwoRanks {
 protected:
  void SetUp() override {
    if (const auto reason = NetworkHosts::obstacle(); !reason.empty()) GTEST_SKIP() << reason;
    hosts_.emplace();
  }

  /// The launcher on one of the hosts.
  Running launch(int host, const Words& larmor_words, const Words& more = {}) const {
    const Words place{
        "--nnodes",      "2",    "--node-rank", text(host), "--master-addr", NetworkHosts::addresses[0],
        "--master-port", "29400"};
    return hosts_->start(host, command(larmor_words + place + more),
                         {.folder = folder(), .environment = {{"LARMOR_START_LIMIT", "30s"}}});
  }
  /// What torchrun's agent would tell its one rank on that host.
  Running adopted(int host, const Words& larmor_words, const std::string& start_limit = "30s") const {
    return hosts_->start(host, command(larmor_words),
                         {.folder = folder(),
                          .environment = {{"RANK", text(host)},
                                          {"WORLD_SIZE", "2"},
                                          {"LOCAL_RANK", "0"},
                                          {"LOCAL_WORLD_SIZE", "1"},
                                          {"MASTER_ADDR", NetworkHosts::addresses[0]},
                                          {"MASTER_PORT", "29400"},
                                          {"OMP_NUM_THREADS", "1"},
                                          {"LARMOR_START_LIMIT", start_limit}}});
  }

  std::optional<NetworkHosts> hosts_;
};

TEST_F(TwoHosts, AdoptedRanksTrainAsOurOwnLauncherDoesOnOneHost) {
  auto first = adopted(0, words("adopted")), second = adopted(1, words("adopted"));
  const auto end = first.wait();
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(second.wait().status, 0) << second.err();
  EXPECT_EQ(trained_state(run("adopted")), own());
}

TEST_F(TwoHosts, OurLauncherOnEachTrainsAsOnOneHost) {
  auto first = launch(0, words("both")), second = launch(1, words("both"));
  const auto end = first.wait();
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(second.wait().status, 0) << second.err();
  EXPECT_EQ(trained_state(run("both")), own());
}

TEST_F(TwoHosts, ASignalOnEitherStopsBothAndTheSameCommandsGoOn) {
  {
    auto first = launch(0, words("stopped")), second = launch(1, words("stopped"));
    ASSERT_TRUE(reaches_step(run("stopped"), 6)) << first.err() << second.err();
    second.send(SIGTERM);
    EXPECT_EQ(first.wait().status, stopped) << first.err();
    EXPECT_EQ(second.wait().status, stopped) << second.err();
  }
  auto first = launch(0, words("stopped")), second = launch(1, words("stopped"));
  const auto end = first.wait();
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(second.wait().status, 0) << second.err();
  EXPECT_THAT(generations_of(run("stopped")), ElementsAre(0, 1));
  EXPECT_EQ(trained_state(run("stopped")), own());
}

TEST_F(TwoHosts, EveryStageIsTrainedByTheSameCommandOnEach) {
  const auto chain = [](const std::string& name) {
    return Words{toy_program().string(),
                 "train",
                 "toy",
                 "--stage",
                 "all",
                 "-c",
                 "tiny",
                 "--ranks",
                 "2",
                 "--threads",
                 "1",
                 "train.length=4st",
                 "train.validate_every=2st",
                 "checkpoint.every=2st",
                 "optim.schedule.warmup=0"} +
           (name.empty() ? Words{} : Words{"run.name=" + name});
  };
  const auto on = [&](int host, const std::string& name) {
    const Words place{
        "--nnodes", "2", "--node-rank", text(host), "--master-addr", NetworkHosts::addresses[0]};
    return hosts_->start(host, chain(name) + place,
                         {.folder = folder(), .environment = {{"LARMOR_START_LIMIT", "60s"}}});
  };
  auto first = on(0, "both"), second = on(1, "both");
  const auto end = first.wait();
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(second.wait().status, 0) << second.err();
  const auto one = hosts_->start(0, chain("one"), {.folder = folder()}).wait();
  ASSERT_EQ(one.status, 0) << one.err;
  for (const auto* stage : {"coder", "refiner"}) {
    EXPECT_EQ(trained_state(run(text("both-", stage))), trained_state(run(text("one-", stage)))) << stage;
  }
  const auto nameless = on(1, "").wait();
  EXPECT_EQ(nameless.status, usage);
  EXPECT_THAT(nameless.err, HasSubstr("run.name=N"));
}

TEST_F(TwoHosts, SignalsThatReachEachHostTwiceWithinASecondAreOne) {
  auto first = launch(0, words("doubled", 4000)), second = launch(1, words("doubled", 4000));
  ASSERT_TRUE(reaches_step(run("doubled"), 3)) << first.err() << second.err();
  for (int times = 0; times < 2; ++times) {
    for (Running* one : {&first, &second}) one->send(SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(first.wait().status, stopped) << first.err();
  EXPECT_EQ(second.wait().status, stopped) << second.err();
}

TEST_F(TwoHosts, AHostThatNeverComesIsNamedWithinTheStartLimit) {
  auto alone = adopted(0, words("alone"), "3s");
  constexpr double start_and_limit = 15;
  ASSERT_TRUE(alone.ends_within(start_and_limit));
  const auto end = alone.wait();
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("1 of 2"), HasSubstr("hint: ")));
  EXPECT_FALSE(std::filesystem::exists(run("alone")));
}

TEST_F(TwoHosts, AMasterThatIsNotThereIsNamedWithinTheStartLimit) {
  auto lost = adopted(1, words("lost"), "3s");
  constexpr double start_and_limit = 15;
  ASSERT_TRUE(lost.ends_within(start_and_limit));
  const auto end = lost.wait();
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_THAT(end.err, HasSubstr("10.77.0.1"));
}

TEST_F(TwoHosts, AMasterThatIsNoneOfOursIsNamedWithinTheStartLimit) {
  auto intruder = hosts_->start(0, {"python3", "-c", R"(
import socket, time
listener = socket.create_server(("10.77.0.1", 29400))
print("open", flush=True)
while True:
    visitor, _ = listener.accept()
    visitor.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
)"});
  constexpr double seconds_to_open = 20, start_and_limit = 45;
  ASSERT_TRUE(becomes_true([&] { return intruder.out() == "open\n"; }, seconds_to_open)) << intruder.err();
  auto misled = launch(1, words("misled"));
  ASSERT_TRUE(misled.ends_within(start_and_limit)) << misled.err();
  const auto end = misled.wait();
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("10.77.0.1"), HasSubstr("29400"), HasSubstr("hint: ")));
  EXPECT_FALSE(std::filesystem::exists(run("misled")));
}

TEST_F(TwoHosts, ARunFolderThatTheOtherHostWorksInIsRefused) {
  const auto here = ProgramOptions{.folder = folder()};
  auto first = hosts_->start(0, command(words("shared", 4000)), here);
  ASSERT_TRUE(reaches_step(run("shared"), 2)) << first.err();
  const auto second = hosts_->start(1, command(words("shared", 4000)), here).wait();
  EXPECT_EQ(second.status, environment) << second.err;
  EXPECT_THAT(second.err, HasSubstr("host-a"));
  first.send(SIGTERM);
  EXPECT_EQ(first.wait().status, stopped) << first.err();
}

TEST_F(TwoHosts, AHostThatIsCutOffIsNamed) {
  auto first = launch(0, words("cut", 4000)), second = launch(1, words("cut", 4000));
  ASSERT_TRUE(reaches_step(run("cut"), 6)) << first.err() << second.err();
  hosts_->disconnect();
  constexpr double seconds_to_notice = 60;
  ASSERT_TRUE(first.ends_within(seconds_to_notice)) << first.err();
  EXPECT_TRUE(second.ends_within(seconds_to_notice)) << second.err();
  EXPECT_THAT(first.wait().err, HasSubstr("host-b"));
}

}  // namespace
}  // namespace larmor::testing
