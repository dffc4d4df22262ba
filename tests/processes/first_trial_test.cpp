// What a new run would meet after its first interval alone is met before its first step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/support/tried_out.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int usage = 2;

class FirstTrial : public ::testing::Test {
 protected:
  Finished train(const std::string& name, std::vector<std::string> more) const {
    std::vector<std::string> words{"train", "survival",         "-c",      "tiny", "--device",
                                   "cpu",   "run.name=" + name, "--steps", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return larmor_program(words, {.folder = scratch_.path()});
  }
  std::filesystem::path run(const std::string& name) const { return scratch_.path() / "runs" / name; }

  ScratchFolder scratch_;
};

TEST_F(FirstTrial, RefusesAMetricThatValidationDoesNotGiveAndNamesThoseThatItGives) {
  const auto end = train("typed", {"checkpoint.metric=val/c_indx"});
  EXPECT_EQ(end.status, usage) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("checkpoint.metric is val/c_indx"),
                             HasSubstr("did you mean val/c_index?"), HasSubstr("val/loss")));
  EXPECT_THAT(events_of(run("typed"), "step"), IsEmpty());
}

TEST_F(FirstTrial, TakesEachNameThatValidationGivesAndPartsOfOne) {
  for (const std::string name : {"val/c_index", "val/auc@1y"}) {
    const auto end =
        train("named" + std::to_string(name.size()), {"checkpoint.metric=" + name, "checkpoint.mode=max"});
    EXPECT_EQ(end.status, 0) << end.err;
  }
}

TEST_F(FirstTrial, IsLeftOutWhereItIsNotWanted) {
  EXPECT_EQ(train("hasty", {"checkpoint.metric=val/c_indx", "--no-check"}).status, 0);
}

TEST_F(FirstTrial, ChangesNoBitOfWhatIsTrained) {
  for (const auto* ranks : {"1", "2"})
    expect_the_trial_changes_nothing({"survival", "-c", "tiny", "--device", "cpu", "--ranks", ranks},
                                     scratch_.path());
}

}  // namespace
}  // namespace larmor::testing
