// Faults of cards end as docs/cli.md promises: the right rank and status are named, and what was saved goes
// on.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_emulation/support/emulated_program.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

constexpr int memory = 5, rank_lost = 8;

/// On two cards, in double precision.
Words training(const std::string& workload, int steps, const Words& more) {
  Words words{"train",
              workload,
              "-c",
              "tiny",
              "--steps",
              std::to_string(steps),
              "--ranks",
              "2",
              "--device",
              "cuda",
              "train.precision=fp64",
              "run.deterministic=true",
              "--no-color",
              "checkpoint.every=4st"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Twelve steps with three checkpoints.
Words long_enough(const Words& more = {}) {
  Words words = training("survival", 12, {"plan.probe=false"});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// What the last step gives where nothing fails.
const std::map<std::string, double>& values_without_faults() {
  static const auto values = [] {
    const ScratchFolder scratch;
    const auto end = run_on_gpus(long_enough(), scratch.path());
    EXPECT_EQ(end.status, 0) << end.err;
    return training_values(end.run_folder()).back();
  }();
  return values;
}

class CardFaults : public ::testing::Test {
 protected:
  Finished run(const std::string& faults, const Words& words) const {
    return run_on_gpus(words, scratch_.path(), {.environment = {{"EMULATED_FAULTS", faults}, mark()}});
  }
  std::pair<std::string, std::string> mark() const {
    return {"EMULATED_FAULT_MARK", (scratch_.path() / "mark").string()};
  }
  bool has_struck() const { return std::filesystem::exists(scratch_.path() / "mark"); }
  ScratchFolder scratch_;
};

// The context takes 1524 MiB of a card of 80 GiB.
TEST_F(CardFaults, ACardWithLessMemoryThanItSaysMakesTheMicroBatchOfAllRanksSmaller) {
  const auto end = run("memory@1=1570M",
                       training("latent_diffusion", 2, {"train.micro_batch=6", "train.global_batch=12"}));
  EXPECT_EQ(end.status, 0) << end.out << end.err;
  EXPECT_THAT(end.out + end.err, ContainsRegex("One step with micro-batch [123]:"));
}

TEST_F(CardFaults, ACardWithRoomForNothingEndsTheRunForWantOfMemory) {
  const auto end = run("memory@1=1526M", long_enough());
  EXPECT_EQ(end.status, memory) << end.out << end.err;
  EXPECT_THAT(end.err, HasSubstr("rank 1"));
}

TEST_F(CardFaults, AnIllegalAccessEndsItsRankAndTheNextStartGivesTheSameValues) {
  const auto end = run("error@1=2000", long_enough({"--max-restarts", "1"}));
  ASSERT_EQ(end.status, 0) << end.out << end.err;
  EXPECT_TRUE(has_struck());
  EXPECT_THAT(end.out + end.err, ContainsRegex("rank 1 (was killed|ended).*restart 1 of 1"));
  EXPECT_THAT(read_text(std::filesystem::path(end.run_folder()) / "log" / "rank-1.log"),
              HasSubstr("illegal memory access"));
  EXPECT_THAT(end.out + end.err,
              HasSubstr("GPU 1 (NVIDIA H100 80GB HBM3): Xid 31 (an illegal memory access)"));
  EXPECT_EQ(training_values(end.run_folder()).back(), values_without_faults());
}

TEST_F(CardFaults, AFailureOfNcclEndsItsRankAndThenItsPeerAndTheNextStartGivesTheSameValues) {
  const auto end = run("collective@1=20", long_enough({"--max-restarts", "1"}));
  ASSERT_EQ(end.status, 0) << end.out << end.err;
  EXPECT_TRUE(has_struck());
  EXPECT_THAT(end.out + end.err, ContainsRegex("rank 1 (was killed|ended).*restart 1 of 1"));
  const auto launcher_log = read_text(std::filesystem::path(end.run_folder()) / "log" / "launcher.log");
  EXPECT_THAT(launcher_log, Not(HasSubstr("SIGKILL"))) << "the peer has to give up by itself";
  EXPECT_EQ(training_values(end.run_folder()).back(), values_without_faults());
}

// Each step has five collectives of the cards: the first carries the rows of the loss, three carry gradients
// while backward may still run, and the last carries what the step records, after backward.
TEST_F(CardFaults, TheEndOfARankWithinACollectiveEndsItsPeerLongBeforeTheGraceIsOver) {
  const std::map<std::string, std::string> phases{{"21", "computing"}, {"25", "communicating in"}};
  for (const int rank : {0, 1}) {  // rank 0 keeps the store
    for (const auto& [collective, phase] : phases) {
      const ScratchFolder scratch;
      const auto fault = "killed@" + std::to_string(rank) + "=" + collective;
      auto words = long_enough();
      words.insert(words.end(), {"--max-restarts", "0"});
      words.emplace_back("--no-check");  // what is tried before the first step has collectives of its own
      const auto end = run_on_gpus(words, scratch.path(), {.environment = {{"EMULATED_FAULTS", fault}}});
      EXPECT_EQ(end.status, rank_lost) << end.out << end.err;
      EXPECT_THAT(end.err, ContainsRegex("larmor: rank " + std::to_string(rank) +
                                         " was killed by SIGKILL while " + phase + " step 2"));
      const auto log = read_text(scratch.path() / "runs" / "latest" / "log" / "launcher.log");
      EXPECT_THAT(log, HasSubstr("rank " + std::to_string(1 - rank) + " ended with exit status 8")) << log;
    }
  }
}

TEST_F(CardFaults, ALostCardEndsItsRankAndIsMissingAfterwards) {
  const auto end = run("gone@1=2000", long_enough());
  EXPECT_EQ(end.status, rank_lost) << end.out << end.err;
  EXPECT_THAT(end.err,
              ContainsRegex("larmor: rank 1 (was killed|ended).*; GPU 1 .*: Xid 79 .the GPU has fallen off "
                            "the bus.; GPU 1 .*: GPU is lost"));
  EXPECT_THAT(read_text(scratch_.path() / "runs" / "latest" / "FAILED"), HasSubstr("Xid 79"));
  const auto doctor = run_on_gpus({"doctor"}, scratch_.path(), {.environment = {mark()}});
  EXPECT_THAT(doctor.out,
              AllOf(HasSubstr("NVML cannot open GPU 1: GPU is lost"), HasSubstr("1 GPU can be used")));
}

TEST_F(CardFaults, AHotCardIsNamedByDoctorAndWhileRanksRunAndEndsNothing) {
  const std::string named = "runs slower than it could: it is much too hot";
  const auto doctor = run_on_gpus({"doctor"}, scratch_.path(), {.cards = "H100,H100/hot"});
  EXPECT_THAT(doctor.out, HasSubstr("GPU 1 " + named));
  const auto end = run_on_gpus(long_enough(), scratch_.path(), {.cards = "H100,H100/hot"});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("GPU 1 (NVIDIA H100 80GB HBM3) " + named));
  EXPECT_THAT(end.err, Not(HasSubstr("GPU 0 (")));
}

TEST_F(CardFaults, ALostCardIsLeftOutWhereFewerRanksAreAllowed) {
  const auto end = run("gone@1=2000", long_enough({"--max-restarts", "1", "--min-ranks", "1"}));
  ASSERT_EQ(end.status, 0) << end.out << end.err;
  EXPECT_TRUE(has_struck());
  EXPECT_THAT(end.err, HasSubstr("restart 1 of 1 with parallel.ranks=0,"));
  const auto values = training_values(end.run_folder()).back();
  ASSERT_EQ(values.size(), values_without_faults().size());
  for (const auto& [name, value] : values_without_faults())
    EXPECT_NEAR(values.at(name), value, 1e-11 * std::max(1.0, std::abs(value))) << name;
}

}  // namespace
}  // namespace larmor::testing
