// A rank that is stopped (SIGSTOP) while others wait for it, in the verbs that start ranks beside `train`: it
// is named within the hang limit, and the call ends as docs/cli.md says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int rank_lost = 8;

class StoppedRanks : public ::testing::Test {
 protected:
  Finished step(const std::vector<std::string>& more, const std::map<std::string, std::string>& environment) {
    std::vector<std::string> words{"bench",    "step", "latent_diffusion", "-c", "tiny", "--ranks", "2",
                                   "--blocks", "1",    "--warmup",         "1"};
    words.insert(words.end(), more.begin(), more.end());
    return larmor_program(words, {.folder = scratch_.path(), .environment = environment});
  }

 private:
  ScratchFolder scratch_;
};

TEST_F(StoppedRanks, OfBenchStepIsNamed) {
  const auto end = step({"parallel.hang_limit=2s"}, {{"LARMOR_FAULT", "rank=1 phase=computing do=stop"}});
  EXPECT_EQ(end.status, rank_lost);
  EXPECT_THAT(end.out, IsEmpty());
  EXPECT_THAT(end.err, AllOf(ContainsRegex("larmor: rank 1 hangs: no heartbeat for .* while computing"),
                             HasSubstr("its process is stopped by a signal"), Not(HasSubstr("hang-0.txt"))))
      << "and no file that is gone";
}

// What takes longer than the limit goes on as long as its blocks do.
TEST_F(StoppedRanks, AreNotThoseThatTakeLong) {
  const auto end = step({"parallel.hang_limit=3s", "--steps", "300"}, {});
  EXPECT_EQ(end.status, 0) << end.err;
  const auto json = end.json();
  const auto& result = json["result"]["larmor"];
  EXPECT_GT(300 * result["median_ms"].get<double>(), 3000) << "longer than the limit";
}

TEST_F(StoppedRanks, OfBenchCollectivesIsNamedBeforeTheLimitOfACollective) {
  const std::string fast_clock = FAST_CLOCK;
  if (fast_clock.empty()) GTEST_SKIP() << "no clock is preloaded beside a sanitizer";
  const auto end = larmor_program(
      {"bench", "collectives", "--ranks", "2", "--sizes", "4KiB", "--seconds", "0.01"},
      {.environment = {{"LARMOR_FAULT", "rank=1 phase=starting do=stop"}, {"LD_PRELOAD", fast_clock}}});
  EXPECT_EQ(end.status, rank_lost);
  EXPECT_THAT(end.err, ContainsRegex("larmor: rank [01] hangs: .* while starting"));
}

}  // namespace
}  // namespace larmor::testing
