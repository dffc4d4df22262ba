// Threads on cores that are not ours alone. How long they spin while they wait: short, in every process of
// the program and of its ranks, unless the person has said it; libgomp itself tells what it took from its
// environment. And how many there are.
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/support/program_run.h"
#include "tests/processes/support/small_training.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

constexpr const char* short_spin = "GOMP_SPINCOUNT = '1000'";

Words one_step_of(int ranks) {
  Words words = small_training("one", ranks);
  words.insert(words.end(), {"--steps", "1"});
  return words;
}

class ThreadSpin : public ::testing::Test {
 protected:
  /// As if the tests had not said how threads wait.
  Finished call(const Words& words, Environment environment = {}) const {
    environment["OMP_DISPLAY_ENV"] = "verbose";
    const std::string unset = environment.contains("OMP_WAIT_POLICY") ? ":" : "unset OMP_WAIT_POLICY";
    return larmor_program(words, {.folder = scratch_.path(), .environment = environment, .before = unset});
  }
  ScratchFolder scratch_;
};

TEST_F(ThreadSpin, IsShortInTheProcessThatIsCalled) {
  const auto end = call({"list", "--help"});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr(short_spin));
  EXPECT_THAT(end.out, HasSubstr("larmor list")) << "the words of the call are still there";
}

TEST_F(ThreadSpin, IsThePersonsWhereItIsSaid) {
  EXPECT_THAT(call({"list"}, {{"GOMP_SPINCOUNT", "77"}}).err,
              AllOf(HasSubstr("GOMP_SPINCOUNT = '77'"), Not(HasSubstr(short_spin))));
  EXPECT_THAT(call({"list"}, {{"OMP_WAIT_POLICY", "active"}}).err,
              AllOf(HasSubstr("OMP_WAIT_POLICY = 'ACTIVE'"), Not(HasSubstr(short_spin))));
}

TEST_F(ThreadSpin, IsInTheEnvironmentOfRanks) {
  const Words ranks{"launch", "--ranks", "2", "--", "sh", "-c", "echo $GOMP_SPINCOUNT$OMP_WAIT_POLICY"};
  EXPECT_EQ(call(ranks).out, "1000\n");
  EXPECT_EQ(read_text(scratch_.path() / "larmor-log" / "rank-1.log"), "1000\n");
  EXPECT_EQ(call(ranks, {{"GOMP_SPINCOUNT", "77"}}).out, "77\n");
  EXPECT_EQ(call(ranks, {{"OMP_WAIT_POLICY", "active"}}).out, "active\n");
}

TEST_F(ThreadSpin, IsShortInARankThatTrains) {
  const auto end = call(one_step_of(2));
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(read_text(scratch_.path() / "runs" / "one" / "log" / "rank-1.log"), HasSubstr(short_spin));
}

class ThreadsOfRun : public ThreadSpin {
 protected:
  Finished train(const Words& words, const std::string& free_cores) const {
    return larmor_program(words,
                          {.folder = scratch_.path(), .environment = {{"LARMOR_FREE_CORES", free_cores}}});
  }
  std::filesystem::path run() const { return scratch_.path() / "runs" / "one"; }
  int threads() const { return read_json(run() / "plan.json")["threads_per_rank"].get<int>(); }
};

TEST_F(ThreadsOfRun, AreForTheCoresThatAreFreeAtItsStartAndStayWhenItGoesOn) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core is one thread";
  const auto first = train(one_step_of(1), "2");
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(threads(), 2);
  EXPECT_EQ(read_json(run() / "hardware.json")["free_cores"], 2);
  const auto again = train({"train", run().string(), "--steps", "1"}, "0");
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(threads(), 2);
  EXPECT_TRUE(events_of(run(), "change").empty());
}

TEST_F(ThreadsOfRun, IsOneWhereNothingIsFree) {
  const auto end = train(one_step_of(1), "0");
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(threads(), 1);
  EXPECT_EQ(read_json(run() / "hardware.json")["free_cores"], 0);
}

TEST_F(ThreadsOfRun, AreRefusedByAWordThatIsNoNumber) {
  const auto end = train(one_step_of(1), "many");
  EXPECT_EQ(end.status, 2);
  EXPECT_THAT(end.err, HasSubstr("LARMOR_FREE_CORES is \"many\""));
}

}  // namespace
}  // namespace larmor::testing
