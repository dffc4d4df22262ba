// All stages by one command of a job that its scheduler stops, puts back into the queue and starts again.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/small_training.h"
#include "tests/processes/support/toy_stages.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Environment = std::map<std::string, std::string>;

constexpr int stopped = 75;
constexpr int steps = 60;

class RequeuedChain : public AllStages {
 protected:
  static std::vector<std::string> words(std::vector<std::string> more = {},
                                        const std::string& length = text(steps, "st")) {
    more.insert(more.begin(), {"train.length=" + length, "refiner:model.channels=5"});
    auto all = words_of("all", std::move(more));
    all.insert(all.begin(), "train");
    return all;
  }
  /// Of the start `number` of a job.
  static Environment job(int number, const std::string& id = "78") {
    Environment environment{{"SLURM_JOB_ID", id}};
    if (number > 0) environment["SLURM_RESTART_COUNT"] = text(number);
    return environment;
  }
  Finished start(int number) const { return call(words(), job(number)); }
  /// A start whose runs, in their first generation, are slow after their third step, and which is stopped
  /// there in the run of that stage.
  Finished stop_in(const std::string& stage, int number) const {
    auto environment = job(number);
    environment["LARMOR_FAULT"] = "rank=0 phase=computing step=3 do=slow";
    Running running(
        words(),
        {.folder = scratch_.path(), .environment = std::move(environment), .program = toy_program()});
    constexpr double seconds = 120;
    EXPECT_TRUE(
        becomes_true([&] { return !run_of(stage).empty() && newest_step(run_of(stage)) >= 3; }, seconds))
        << running.err();
    running.send(SIGTERM);
    return running.wait();
  }
  /// The folder of the one run of that stage; empty where there is none.
  fs::path run_of(const std::string& stage) const {
    fs::path found;
    std::error_code none;
    for (const auto& item : fs::directory_iterator(scratch_.path() / "runs", none)) {
      const bool is_one = fs::exists(item.path() / "config.yaml") && !item.is_symlink() &&
                          item.path().filename().string().ends_with("-" + stage) &&
                          !item.path().filename().string().starts_with("toys");
      if (!is_one) continue;
      EXPECT_TRUE(found.empty()) << found << " and " << item.path();
      found = item.path();
    }
    return found;
  }
  std::string weights_of(const fs::path& run) const {
    return read_text(run / "checkpoints" / "last" / "model.safetensors");
  }
};

TEST_F(RequeuedChain, GoesOnInEachStageThoughTheEarlierRunIsGone) {
  const auto whole = call(words({"run.name=toys"}));
  ASSERT_EQ(whole.status, 0) << whole.err;

  const auto first = stop_in("coder", 0);
  ASSERT_EQ(first.status, stopped) << first.err;
  EXPECT_LT(newest_step(run_of("coder")), steps);
  EXPECT_TRUE(run_of("refiner").empty());

  const auto second = stop_in("refiner", 1);
  ASSERT_EQ(second.status, stopped) << second.err;
  EXPECT_THAT(generations_of(run_of("coder")), ElementsAre(0, 1)) << "it has gone on";
  EXPECT_EQ(weights_of(run_of("coder")), weights("coder"));
  EXPECT_LT(newest_step(run_of("refiner")), steps);

  fs::remove_all(run_of("coder"));
  const auto third = start(2);
  ASSERT_EQ(third.status, 0) << third.err;
  EXPECT_THAT(third.err, AllOf(HasSubstr("is not there any more"), HasSubstr("resuming from step")));
  EXPECT_TRUE(run_of("coder").empty()) << "nothing is trained twice";
  EXPECT_EQ(weights_of(run_of("refiner")), weights("refiner"));
  EXPECT_THAT(start(3).err, HasSubstr("is finished already"));
}

TEST_F(RequeuedChain, BeginsAtTheFirstStageAgainWhereTheLaterRunHasKeptNothing) {
  ASSERT_EQ(start(0).status, 0);
  const auto coder = run_of("coder"), refiner = run_of("refiner");
  const auto expected = weights_of(coder);
  fs::remove_all(coder);
  fs::remove_all(refiner / "from");
  fs::remove(refiner / "DONE");
  const auto again = start(1);
  EXPECT_THAT(again.err, Not(HasSubstr("is not there any more")));
  EXPECT_EQ(weights_of(coder), expected) << again.err;
}

TEST_F(RequeuedChain, IsAnotherOneOfAnotherJobAndOfOtherWords) {
  const auto names = [&] {
    std::vector<std::string> all;
    for (const auto& item : fs::directory_iterator(scratch_.path() / "runs")) {
      const auto name = item.path().filename().string();
      if (!item.is_symlink() && name.ends_with("-coder")) all.push_back(name);
    }
    return all.size();
  };
  const auto begin = [&](const Environment& environment, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--steps", "1"});
    const auto end = call(words(std::move(more), "1st"), environment);
    EXPECT_EQ(end.status, 0) << end.err;
    return names();
  };
  EXPECT_EQ(begin(job(0)), 1U);
  EXPECT_EQ(begin(job(1)), 1U) << "the same one";
  EXPECT_EQ(begin(job(0)), 2U) << "one job may train several";
  EXPECT_EQ(begin(job(1)), 2U) << "of which the newest is the one that goes on";
  EXPECT_EQ(begin(job(1, "79")), 3U);
  EXPECT_EQ(begin(job(1), {"optim.eps=1e-6"}), 4U);
}

}  // namespace
}  // namespace larmor::testing
