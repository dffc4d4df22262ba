// A run that goes back to an older checkpoint, and what its links and its best checkpoint are after kills.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Rewind : public ::testing::Test {
 protected:
  Finished call(std::vector<std::string> words, const std::map<std::string, std::string>& environment = {}) {
    return larmor_program(std::move(words), {.folder = scratch_.path(), .environment = environment});
  }
  fs::path run() const { return scratch_.path() / "runs" / "mine"; }
  fs::path checkpoint(const std::string& name) const { return run() / "checkpoints" / name; }

  static std::vector<std::string> words(const std::string& validate_every) {
    auto all = with(small_training("mine", 1, 16), "train.validate_every", validate_every);
    all.emplace_back("checkpoint.keep_last=3");
    return all;
  }
  /// Steps 4, 8 and 12, none of them validated.
  void train_twelve_steps() {
    auto all = words("100st");
    all.insert(all.end(), {"--steps", "12"});
    const auto end = call(all);
    ASSERT_EQ(end.status, 0) << end.err;
    ASSERT_THAT(checkpoint_names(run()), ElementsAre("step-00000004", "step-00000008", "step-00000012"));
  }
  std::string best_by_manifests() {
    const auto listed = call({"checkpoint", "list", "mine", "--json"}).json();
    Json best;
    for (const auto& row : listed) {
      if (!row["metric"].is_null() && (best.is_null() || row["metric"] < best["metric"])) best = row;
    }
    return text("step-000000", best["step"] < 10 ? "0" : "", best["step"].get<int64_t>());
  }

 private:
  ScratchFolder scratch_;
};

TEST_F(Rewind, LeavesTheNewerLineAsideAndCanTakeItBack) {
  train_twelve_steps();
  const auto back = call({"train", "mine", "--resume", checkpoint("step-00000004").string(), "--steps", "6"});
  ASSERT_EQ(back.status, 0) << back.err;
  EXPECT_THAT(back.err,
              AllOf(HasSubstr("resuming from step 4"),
                    HasSubstr("going back to step 4: step-00000012, step-00000008 were moved to ")));
  EXPECT_THAT(checkpoint_names(run()), ElementsAre("step-00000004", "step-00000006"));
  const auto on = call({"train", "mine", "--steps", "8"});
  EXPECT_THAT(on.err, HasSubstr("resuming from step 6")) << "the line that was chosen";
  const auto aside = run() / "checkpoints.before-1" / "step-00000012";
  const auto again = call({"train", "mine", "--resume", aside.string()});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, AllOf(HasSubstr("took "), HasSubstr("resuming from step 12")));
  EXPECT_EQ(call({"checkpoint", "verify", "mine"}).status, 0);
}

TEST_F(Rewind, IsNotUndoneByARestartOfItsRanks) {
  train_twelve_steps();
  const auto end = call({"train", "mine", "--resume", checkpoint("step-00000004").string(), "--steps", "6",
                         "--max-restarts", "1"},
                        {{"LARMOR_FAULT", "rank=0 phase=computing step=5 do=kill generation=1"}});
  ASSERT_EQ(end.status, 0) << end.err;
  const auto restart = end.err.find("restart 1 of 1");
  ASSERT_NE(restart, std::string::npos) << end.err;
  EXPECT_THAT(end.err.substr(restart),
              AllOf(HasSubstr("resuming from step 4"), Not(HasSubstr("resuming from step 12"))));
  EXPECT_THAT(checkpoint_names(run()), ElementsAre("step-00000004", "step-00000006"));
}

TEST_F(Rewind, IsDoneOnceByAJobThatItsSchedulerStartsAgain) {
  train_twelve_steps();
  const auto start = [&](const char* restarts, const char* steps) {
    return call({"train", "mine", "--resume", checkpoint("step-00000004").string(), "--steps", steps},
                {{"SLURM_JOB_ID", "7"}, {"SLURM_RESTART_COUNT", restarts}});
  };
  ASSERT_EQ(start("0", "6").status, 0);
  EXPECT_THAT(start("1", "8").err, HasSubstr("resuming from step 6"));
  EXPECT_THAT(start("0", "6").err, HasSubstr("resuming from step 4"))
      << "a person's words in the same allocation";
}

TEST_F(Rewind, IsNoAnswerToWhichIsTheBestWhereNoneWasValidated) {
  train_twelve_steps();
  const auto exported = call({"export", "mine", "--output", "weights.safetensors", "--json"});
  ASSERT_EQ(exported.status, 0) << exported.err;
  EXPECT_EQ(exported.json()["checkpoint"], "step-00000012");
  EXPECT_THAT(exported.err, HasSubstr("there is no best one: taking the last, step-00000012"));
}

TEST_F(Rewind, NeedsNoLinkToFindTheBestAfterAKill) {
  // Dies of its second save, between the rename and the links.
  auto all = words("4st");
  all.insert(all.end(), {"--max-restarts", "0"});
  const auto killed = call(all, {{"LARMOR_FAIL_POINT", "checkpoint.committed:2:kill"}});
  ASSERT_EQ(killed.status, 8) << killed.err;
  ASSERT_THAT(checkpoint_names(run()), ElementsAre("step-00000004", "step-00000008"));
  ASSERT_EQ(fs::read_symlink(checkpoint("best")), "step-00000004");
  ASSERT_EQ(best_by_manifests(), "step-00000008") << "this training gets better";
  const auto judged = call({"evaluate", "mine", "--json"});
  ASSERT_EQ(judged.status, 0) << judged.err;
  EXPECT_EQ(judged.json()["checkpoint"], "step-00000008");
  ASSERT_EQ(call({"train", "mine", "--steps", "9"}).status, 0);
  EXPECT_EQ(fs::read_symlink(checkpoint("best")), best_by_manifests());
  EXPECT_EQ(fs::read_symlink(checkpoint("last")), "step-00000009");
}

}  // namespace
}  // namespace larmor::testing
