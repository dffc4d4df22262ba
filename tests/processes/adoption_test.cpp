// Ranks that another launcher started: the environment of torchrun is all they need.
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/text.h"

#include "tests/processes/support/small_training.h"
#include "tests/processes/support/toy_program.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int stopped = 75, environment = 4;

/// A socket on a free port of loopback.
class Port {
 public:
  Port() : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(descriptor_, any, length), 0);
    EXPECT_EQ(getsockname(descriptor_, any, &length), 0);
    number_ = ntohs(address.sin_port);
  }
  ~Port() { release(); }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  void hold() const { EXPECT_EQ(listen(descriptor_, 1), 0); }
  void release() {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
  }
  int number() const { return number_; }

 private:
  int descriptor_, number_ = 0;
};

class Adoption : public ::testing::Test {
 protected:
  std::filesystem::path runs() const { return scratch_.path() / "runs"; }

  /// What torchrun sets, but for its agent's store: rank 0 hosts one itself.
  ProgramOptions as_rank(int rank, int count, int port) const {
    return {.folder = scratch_.path(),
            .environment = {{"RANK", text(rank)},
                            {"WORLD_SIZE", text(count)},
                            {"LOCAL_RANK", text(rank)},
                            {"LOCAL_WORLD_SIZE", text(count)},
                            {"MASTER_ADDR", "127.0.0.1"},
                            {"MASTER_PORT", text(port)},
                            {"OMP_NUM_THREADS", "1"}}};
  }

  /// `small_training` without --ranks, which the other launcher has decided.
  static std::vector<std::string> words(const std::string& run, int steps = small_steps) {
    auto all = small_training(run, 2, steps);
    const auto flag = std::find(all.begin(), all.end(), "--ranks");
    all.erase(flag, flag + 2);
    return all;
  }

  std::vector<Finished> run_both(const std::vector<std::string>& arguments) {
    Port port;
    port.release();
    Running first(arguments, as_rank(0, 2, port.number())), second(arguments, as_rank(1, 2, port.number()));
    return {first.wait(), second.wait()};
  }

  ScratchFolder scratch_;
};

TEST_F(Adoption, TwoRanksOfAnotherLauncherTrainAsOurOwnDo) {
  for (const auto& end : run_both(words("adopted"))) EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_TRUE(std::filesystem::exists(runs() / "adopted" / "DONE"));
  const auto own = larmor_program(small_training("own", 2), {.folder = scratch_.path()});
  ASSERT_EQ(own.status, 0) << own.err;
  const auto adopted = trained_state(runs() / "adopted"), expected = trained_state(runs() / "own");
  EXPECT_EQ(adopted.files, expected.files);
  EXPECT_EQ(adopted.steps, expected.steps);
}

TEST_F(Adoption, RanksThatAreAskedToStopGoOnLater) {
  Port port;
  port.release();
  {
    Running first(words("stopped"), as_rank(0, 2, port.number())),
        second(words("stopped"), as_rank(1, 2, port.number()));
    ASSERT_TRUE(reaches_step(runs() / "stopped", 6)) << first.err();
    first.send(SIGTERM);
    second.send(SIGTERM);
    EXPECT_EQ(first.wait().status, stopped) << first.err();
    EXPECT_EQ(second.wait().status, stopped) << second.err();
  }
  for (const auto& end : run_both({"train", "stopped"})) EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(generations_of(runs() / "stopped"), ElementsAre(0, 1));
  ASSERT_EQ(larmor_program(small_training("own", 2), {.folder = scratch_.path()}).status, 0);
  EXPECT_EQ(trained_state(runs() / "stopped"), trained_state(runs() / "own"));
}

TEST_F(Adoption, AJobThatIsStartedAgainGoesOnWithItsOwnRunAlthoughNobodyNamedIt) {
  Port port;
  port.release();
  auto options = as_rank(0, 1, port.number());
  options.environment["TORCHELASTIC_RUN_ID"] = "job-7";
  auto first = with(words("any"), "run.name", "auto");
  first.insert(first.end(), {"--steps", "6"});
  const auto other = with(first, "run.seed", "43");
  ASSERT_EQ(larmor_program(first, options).status, 0);
  ASSERT_EQ(larmor_program(other, options).status, 0) << "another run of the same job";
  options.environment["TORCHELASTIC_RESTART_COUNT"] = "1";
  first.back() = "12";
  const auto again = larmor_program(first, options);
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("resuming from step 6"));
  int folders = 0;
  for (const auto& item : std::filesystem::directory_iterator(runs())) folders += item.is_symlink() ? 0 : 1;
  EXPECT_EQ(folders, 2);
}

TEST_F(Adoption, OnlyRankZeroSpeaksAndSaysWhatARunOfOursSays) {
  auto arguments = words("spoken", 12);
  arguments.emplace_back("--json");
  const auto ends = run_both(arguments);
  const auto result = ends[0].json();
  EXPECT_EQ(result.at("steps"), 12);
  EXPECT_EQ(result.at("status"), "done");
  EXPECT_THAT(result.at("run").get<std::string>(), HasSubstr("runs/spoken"));
  EXPECT_EQ(ends[1].out, "");
  for (const auto& end : run_both({"train", "spoken"})) EXPECT_EQ(end.status, 0) << end.err;
}

TEST_F(Adoption, ARankThatNeverComesIsNamedWithinTheStartLimit) {
  Port port;
  port.release();
  auto options = as_rank(0, 2, port.number());
  options.environment["LARMOR_START_LIMIT"] = "2s";
  Running alone(words("alone"), options);
  constexpr double start_and_limit = 10;
  ASSERT_TRUE(alone.ends_within(start_and_limit));
  const auto end = alone.wait();
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("waited 2 s"), HasSubstr("for rank 1 of 2, which never came"),
                             HasSubstr("hint: ")));
  EXPECT_FALSE(std::filesystem::exists(runs() / "alone"));
}

TEST_F(Adoption, AMasterThatIsNotThereIsNamedWithinTheStartLimit) {
  Port port;
  port.release();
  auto options = as_rank(1, 2, port.number());
  options.environment["LARMOR_START_LIMIT"] = "1s";
  const auto end = larmor_program(words("orphan"), options);
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("could not reach the master"), HasSubstr(text(port.number()))));
}

TEST_F(Adoption, RanksOfDifferentWordsAreRefused) {
  Port port;
  port.release();
  Running first(words("mixed"), as_rank(0, 2, port.number()));
  Running second(with(words("mixed"), "optim.ema_decay", "0.5"), as_rank(1, 2, port.number()));
  for (const auto& end : {first.wait(), second.wait()}) {
    EXPECT_EQ(end.status, 2) << end.err;
    EXPECT_THAT(end.err, AllOf(HasSubstr("rank 1 on "),
                               HasSubstr("was given another configuration: optim.ema_decay is")));
  }
  EXPECT_FALSE(std::filesystem::exists(runs() / "mixed"));
}

TEST_F(Adoption, TheRanksOfAnotherLauncherTrainEveryStageOneAfterTheOther) {
  const auto chain = [](const std::string& name) {
    std::vector<std::string> all{"train", "toy", "--stage", "all", "-c", "tiny", "--threads", "1"};
    all.insert(all.end(), {"train.length=4st", "train.validate_every=2st", "checkpoint.every=2st",
                           "optim.schedule.warmup=0"});
    if (!name.empty()) all.push_back("run.name=" + name);
    return all;
  };
  Port port;
  port.release();
  const auto start = [&](int rank, const std::string& name) {
    auto options = as_rank(rank, 2, port.number());
    options.program = toy_program();
    return Running(chain(name), options);
  };
  {
    auto first = start(0, "both"), second = start(1, "both");
    EXPECT_EQ(first.wait().status, 0) << first.err();
    EXPECT_EQ(second.wait().status, 0) << second.err();
  }
  auto alone = chain("one");
  alone.insert(alone.end(), {"--ranks", "2"});
  const auto one = larmor_program(alone, {.folder = scratch_.path(), .program = toy_program()});
  ASSERT_EQ(one.status, 0) << one.err;
  for (const auto* stage : {"coder", "refiner"})
    EXPECT_EQ(trained_state(runs() / text("both-", stage)), trained_state(runs() / text("one-", stage)));
  const auto nameless = start(1, "").wait();
  EXPECT_EQ(nameless.status, 2) << "no job gives them a name";
  EXPECT_THAT(nameless.err, HasSubstr("run.name=N"));
}

TEST_F(Adoption, ARankThatIsKilledEndsTheOther) {
  Port port;
  port.release();
  Running first(words("torn", 4000), as_rank(0, 2, port.number())),
      second(words("torn", 4000), as_rank(1, 2, port.number()));
  ASSERT_TRUE(reaches_step(runs() / "torn", 6)) << first.err();
  second.send(SIGKILL);
  constexpr double seconds_to_notice = 10;
  ASSERT_TRUE(first.ends_within(seconds_to_notice));
  const auto end = first.wait();
  EXPECT_EQ(end.status, 8) << end.err;
  EXPECT_THAT(end.err, HasSubstr("rank 1 was lost"));
}

TEST_F(Adoption, ATakenPortIsNamed) {
  Port port;
  port.hold();
  const auto end = larmor_program(words("taken"), as_rank(0, 2, port.number()));
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_THAT(end.err, HasSubstr(text(port.number())));
}

TEST_F(Adoption, ABadConfigurationIsRefusedBeforeAPortIsTouched) {
  Port port;
  port.hold();
  auto wrong = words("wrong");
  wrong.emplace_back("train.lenght=3st");
  const auto end = larmor_program(wrong, as_rank(0, 2, port.number()));
  EXPECT_EQ(end.status, 2) << end.err;
}

TEST_F(Adoption, TorchrunItselfStartsUs) {
  const char* oracles = std::getenv("LARMOR_ORACLES");
  const auto torchrun = std::filesystem::path(oracles == nullptr ? "" : oracles) / "bin" / "torchrun";
  if (!std::filesystem::exists(torchrun))
    GTEST_SKIP() << "LARMOR_ORACLES names no Python environment with torchrun in it";
  std::vector<std::string> arguments{"--nproc-per-node", "2", "--no-python", std::getenv("LARMOR_PROGRAM")};
  const auto ours = words("by_torchrun");
  arguments.insert(arguments.end(), ours.begin(), ours.end());
  const auto end = larmor_program(arguments, {.folder = scratch_.path(), .program = torchrun});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(trained_state(runs() / "by_torchrun").steps.size(), static_cast<size_t>(small_steps));
}

}  // namespace
}  // namespace larmor::testing
