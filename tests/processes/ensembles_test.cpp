// `predict --with` and `--mirrored`, as a person calls them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/trained_run.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int usage = 2;

class Ensembles : public TrainedRun {
 protected:
  static void SetUpTestSuite() {
    TrainedRun::SetUpTestSuite();
    put_file(folder() / "in.nii", nifti_bytes());
    put_file(folder() / "in2.nii", nifti_bytes({.number = 2}));
    auto other = small_training("other", /*ranks=*/1, /*steps=*/12);
    other.emplace_back("run.seed=5");
    ASSERT_EQ(call(other).status, 0);
    for (const std::string workload : {"survival", "xray_vqa"}) {
      const auto end = call({"train", workload, "-c", "tiny", text("run.name=my-", workload),
                             "train.length=1st", "train.validate_every=1st", "checkpoint.every=1st",
                             "optim.schedule.name=constant", "optim.schedule.warmup=0"});
      ASSERT_EQ(end.status, 0) << end.err;
    }
  }
  /// The bytes of what comes out.
  static std::string predicted(const std::string& output, const std::vector<std::string>& more) {
    std::vector<std::string> words{"predict", "run", "--input", "in.nii", "--output", output};
    words.insert(words.end(), more.begin(), more.end());
    const auto end = call(words);
    EXPECT_EQ(end.status, 0) << end.err;
    return read_text(folder() / output);
  }
  static void expect_refusal(const std::vector<std::string>& words, const std::string& why) {
    const auto end = call(words);
    EXPECT_EQ(end.status, usage) << join(words, " ");
    EXPECT_THAT(end.err, HasSubstr(why)) << join(words, " ");
  }
};

TEST_F(Ensembles, OfOneCheckpointTwicePredictAsItDoes) {
  const auto alone = predicted("alone.nii", {});
  EXPECT_EQ(predicted("twice.nii", {"--with", "run#best"}), alone);
  EXPECT_EQ(predicted("thrice.nii", {"--with", "run", "--with", "run#best", "--ranks", "1"}).size(),
            alone.size());
}

TEST_F(Ensembles, OfTwoRunsPredictWhatNeitherDoes) {
  const auto one = predicted("best.nii", {}), both = predicted("both.nii", {"--with", "other#best"});
  const auto by_other = [](const std::string& output, const std::vector<std::string>& more) {
    std::vector<std::string> words{"predict", "other", "--input", "in.nii", "--output", output};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(call(words).status, 0);
    return read_text(folder() / output);
  };
  EXPECT_NE(both, one);
  EXPECT_NE(both, by_other("other.nii", {}));
  EXPECT_EQ(both, by_other("turned.nii", {"--with", "run"})) << "whichever is named first";
}

TEST_F(Ensembles, AreSharedOutAmongRanks) {
  const auto together = [](const char* output, const char* ranks) {
    const auto end = call({"predict", "run", "--input", "in.nii", "--input", "in2.nii", "--with", "run#last",
                           "--mirrored", "--ranks", ranks, "--output", output});
    EXPECT_EQ(end.status, 0) << end.err;
    return read_text(folder() / output / "in2.nii.gz");
  };
  EXPECT_EQ(together("two", "2"), together("one", "1"));
}

TEST_F(Ensembles, OfRisksAreTheMeanRisk) {
  const auto end =
      call({"predict", "my-survival", "--input", "in.nii", "--with", "my-survival", "--mirrored", "--json"});
  ASSERT_EQ(end.status, 0) << end.err;
  const auto alone = call({"predict", "my-survival", "--input", "in.nii", "--json"});
  EXPECT_TRUE(end.json().at(0).at("values").contains("risk"));
  const auto twice = call({"predict", "my-survival", "--input", "in.nii", "--with", "my-survival", "--json"});
  EXPECT_EQ(twice.json().at(0).at("values"), alone.json().at(0).at("values"));
}

TEST_F(Ensembles, AreRefusedWhereTheyMakeNoSense) {
  expect_refusal({"predict", "run", "--input", "in.nii", "--output", "o.nii", "--with", "my-survival"},
                 "is a run of the stage risk of survival");
  expect_refusal({"predict", "run", "--input", "in.nii", "--output", "o.nii", "--with", "nobody"}, "--with");
  expect_refusal(
      {"predict", "my-xray_vqa", "--input", "image=in.nii", "--input", "question=Is there?", "--mirrored"},
      "--mirrored: questions and answers name the sides of the body");
}

}  // namespace
}  // namespace larmor::testing
