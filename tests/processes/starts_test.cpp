// Starts of one second, each of which is a run of its own.
#include <algorithm>
#include <map>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/small_training.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class Starts : public ::testing::Test {
 protected:
  fs::path runs() const { return scratch_.path() / "runs"; }
  std::vector<std::string> words(const std::string& name, int seed) const {
    return {"train",
            "survival",
            "-c",
            "tiny",
            "--ranks",
            "1",
            "--device",
            "cpu",
            "--steps",
            "1",
            "optim.schedule.name=constant",
            "optim.schedule.warmup=0",
            "run.name=" + name,
            text("run.seed=", seed)};
  }
  ProgramOptions task(int number) const {
    return {.folder = scratch_.path(),
            .environment = {{"SLURM_JOB_ID", text(700 + number)},
                            {"SLURM_ARRAY_JOB_ID", "700"},
                            {"SLURM_ARRAY_TASK_ID", text(number)}}};
  }
  /// The names of the runs that are there, by their seeds.
  std::map<std::string, std::string> by_seed() const {
    std::map<std::string, std::string> found;
    for (const auto& item : fs::directory_iterator(runs())) {
      if (item.is_symlink()) continue;
      const auto config = read_text(item.path() / "config.yaml");
      const auto at = config.find("seed: ") + 6;
      found[config.substr(at, config.find(' ', at) - at)] = item.path().filename().string();
    }
    return found;
  }

  ScratchFolder scratch_;
};

TEST_F(Starts, OfOneArrayAreARunEach) {
  constexpr int tasks = 6;
  std::vector<std::unique_ptr<Running>> all;
  for (int number = 0; number < tasks; ++number)
    all.push_back(std::make_unique<Running>(words("auto", number), task(number)));
  std::map<std::string, std::string> told;
  for (int number = 0; number < tasks; ++number) {
    const auto end = all[static_cast<size_t>(number)]->wait();
    EXPECT_EQ(end.status, 0) << end.err;
    told[text(number)] = fs::path(end.run_folder()).filename().string();
  }
  EXPECT_EQ(by_seed(), told);
  EXPECT_EQ(told.size(), static_cast<size_t>(tasks));
  // A task that is requeued goes on with its own.
  auto again = task(3);
  again.environment["SLURM_RESTART_COUNT"] = "1";
  auto more = words("auto", 3);
  more[std::ranges::find(more, "--steps") - more.begin() + 1] = "2";
  const auto end = larmor_program(more, again);
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("resuming from step 1"));
  EXPECT_EQ(fs::path(end.run_folder()).filename().string(), told["3"]);
}

TEST_F(Starts, ByOneNameAreOneRunAndTheOthersAreTold) {
  constexpr int starts = 4;
  std::vector<std::unique_ptr<Running>> all;
  for (int seed = 0; seed < starts; ++seed)
    all.push_back(std::make_unique<Running>(words("x", seed), ProgramOptions{.folder = scratch_.path()}));
  std::map<int, int> by_status;
  std::string kept;
  for (int seed = 0; seed < starts; ++seed) {
    const auto end = all[static_cast<size_t>(seed)]->wait();
    ++by_status[end.status];
    if (end.status == 0) {
      kept = text(seed);
      continue;
    }
    EXPECT_THAT(end.err, HasSubstr(end.status == 2 ? "run.seed" : "is held by process"));
  }
  EXPECT_EQ(by_status[0], 1);
  EXPECT_EQ(by_status[2] + by_status[4], starts - 1);
  EXPECT_EQ(by_seed(), (std::map<std::string, std::string>{{kept, "x"}}));
}

}  // namespace
}  // namespace larmor::testing
