// Two hundred rounds of starts in one second, of which each is ended when its run is written down.
#include <memory>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

TEST(StartsOfOneSecond, AreARunEachInTwoHundredRounds) {
  constexpr int rounds = 200, starts = 5, killed = 137;
  const ScratchFolder scratch;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    const auto runs = scratch.path() / text("round-", round);
    std::vector<std::unique_ptr<Running>> all;
    for (int seed = 0; seed < starts; ++seed) {
      const ProgramOptions options{.folder = scratch.path(),
                                   .environment = {{"LARMOR_FAIL_POINT", "link:1:kill"}}};
      all.push_back(std::make_unique<Running>(
          std::vector<std::string>{"train", "survival", "-c", "tiny", "--ranks", "1", "--device", "cpu",
                                   "run.folder=" + runs.string(), text("run.seed=", seed)},
          options));
    }
    for (const auto& one : all) {
      const auto end = one->wait();
      ASSERT_EQ(end.status, killed) << end.err;
    }
    std::set<std::string> seeds;
    for (const auto& item : fs::directory_iterator(runs)) {
      const auto config = read_text(item.path() / "config.yaml");
      seeds.insert(config.substr(config.find("seed: "), 8));
    }
    ASSERT_EQ(seeds.size(), static_cast<size_t>(starts));
  }
}

}  // namespace
}  // namespace larmor::testing
