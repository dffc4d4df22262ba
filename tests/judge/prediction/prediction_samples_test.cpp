// Volumes that were written for the samples of two cases, and what is made of them together.
#include "larmor/judge/prediction/prediction_samples.h"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

PredictionForm drawing_form(std::vector<std::string> volumes) {
  return {.inputs = {{.name = "pa"}}, .volumes = std::move(volumes), .draws = true};
}

class PredictionSamplesOf : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const auto* name : {"a.nii", "b.nii", "a-mean.nii"})
      write_nifti(storage_, folder() / name, filled(0));
  }
  fs::path folder() const { return scratch_.path(); }
  std::string file(const std::string& name) const { return (folder() / name).string(); }
  static Volume filled(float value) {
    Volume volume{.voxels = at::full({1, 2, 3, 4}, value)};
    for (size_t axis = 0; axis < 3; ++axis) volume.affine[axis][axis] = 2;
    return volume;
  }

  void find(const PredictionForm& form, const PredictionRequest& request) {
    form_ = form;
    found_ = find_prediction_cases(form, request);
    files_.emplace(form, found_, folder() / "out/");
  }
  /// Sample s of case c has 10 c + s everywhere, and twice that in a second volume.
  std::vector<PredictedCase> written() {
    std::vector<PredictedCase> results;
    for (const auto& one : found_.cases) {
      Prediction made;
      auto value = static_cast<float>(10 * one.number + one.sample);
      for (const auto& name : form_.volumes) {
        made.volumes[name] = filled(value);
        value *= 2;
      }
      results.push_back(write_prediction(storage_, *files_, form_, one, made));
    }
    return results;
  }
  std::vector<SampleSummary> summaries(const std::vector<PredictedCase>& results) {
    return summarize_samples(storage_, *files_, form_, found_.cases, results);
  }
  float value_in(const std::string& name) const {
    const auto read = read_volume(folder() / "out" / name);
    EXPECT_TRUE(read.voxels.eq(read.voxels.flatten()[0]).all().item<bool>());
    EXPECT_EQ(read.affine[0][0], 2);
    return read.voxels.flatten()[0].item<float>();
  }

  DiskStorage storage_;
  PredictionForm form_;
  PredictionCases found_;
  std::optional<PredictionFiles> files_;

 private:
  ScratchFolder scratch_;
};

TEST_F(PredictionSamplesOf, EachCaseAreItsOwnMeanAndDeviation) {
  find(drawing_form({"ct"}), {.inputs = {file("a.nii"), file("b.nii")}, .count = 3});
  const auto all = summaries(written());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(value_in("a-mean.nii.gz"), 1);
  EXPECT_EQ(value_in("a-deviation.nii.gz"), 1);
  EXPECT_EQ(value_in("b-0002.nii.gz"), 12);
  EXPECT_EQ(value_in("b-mean.nii.gz"), 11);
  const auto json = to_json(all[1]);
  EXPECT_EQ(json["case"], "b");
  EXPECT_EQ(json["samples"], 3);
  EXPECT_EQ(json["outputs"]["deviation"], (folder() / "out" / "b-deviation.nii.gz").string());
  EXPECT_EQ(json["inputs"]["pa"], file("b.nii"));
}

TEST_F(PredictionSamplesOf, SeveralVolumesAreAPairOfEach) {
  find(drawing_form({"ct", "twice"}), {.inputs = {file("a.nii")}, .count = 2});
  const auto all = summaries(written());
  ASSERT_EQ(all.size(), 1U);
  std::vector<std::string> names;
  for (const auto& [name, path] : all[0].files) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("mean-ct", "deviation-ct", "mean-twice", "deviation-twice"));
  EXPECT_EQ(value_in("a-mean-twice.nii.gz"), 1);
  EXPECT_NEAR(value_in("a-deviation-twice.nii.gz"), std::sqrt(2.0), 1e-6);
}

TEST_F(PredictionSamplesOf, AreNotWrittenWhereAVoxelIsNotFinite) {
  find(drawing_form({"ct"}), {.inputs = {file("a.nii")}, .count = 1});
  for (const double odd :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Prediction made;
    made.volumes["ct"] = filled(1);
    made.volumes["ct"].voxels[0][1][2][3] = odd;
    try {
      write_prediction(storage_, *files_, form_, found_.cases.front(), made);
      FAIL() << "written";
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::numerics);
      EXPECT_THAT(error.message(), ::testing::HasSubstr("1 of its 24 voxels"));
    }
    EXPECT_FALSE(fs::exists(files_->volume(found_.cases.front(), "ct")));
  }
}

TEST_F(PredictionSamplesOf, ACaseThatLacksASampleAreNone) {
  find(drawing_form({"ct"}), {.inputs = {file("a.nii"), file("b.nii")}, .count = 2});
  auto results = written();
  results[1] = {.failure = "a: killed", .exit = Exit::rank_lost};
  const auto all = summaries(results);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].one.name, "b");
  EXPECT_FALSE(fs::exists(folder() / "out" / "a-mean.nii.gz"));
}

TEST_F(PredictionSamplesOf, ACaseThatIsPredictedOnceAreNone) {
  find(drawing_form({"ct"}), {.inputs = {file("a.nii"), file("b.nii")}, .count = 1});
  EXPECT_TRUE(summaries(written()).empty());
  EXPECT_EQ(value_in("b.nii.gz"), 10);
}

TEST_F(PredictionSamplesOf, TwoFilesThatWouldMeetAreRefused) {
  try {
    find(drawing_form({"ct"}), {.inputs = {file("a.nii"), file("a-mean.nii")}, .count = 1});
    find(drawing_form({"ct"}), {.inputs = {file("a.nii"), file("a.nii")}, .count = 2});
    FAIL() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_THAT(error.message(), HasSubstr("a-0000.nii.gz"));
  }
}

}  // namespace
}  // namespace larmor::testing
