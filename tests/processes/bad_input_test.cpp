// What goes wrong before training starts: one clear error, its exit status, nothing started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int usage = 2, data = 3;

class BadInput : public ::testing::Test {
 protected:
  std::filesystem::path folder() const { return scratch_.path(); }
  std::filesystem::path heads() const { return folder() / "heads"; }

  Finished run(std::vector<std::string> words) {
    return larmor_program(std::move(words), {.folder = folder()});
  }

  /// Trains on the folder of heads, small and short.
  Finished train(std::vector<std::string> more = {}) {
    std::vector<std::string> words{"train",
                                   "latent_diffusion",
                                   "-c",
                                   "tiny",
                                   "--ranks",
                                   "1",
                                   "data.kind=nifti",
                                   "data.folder=heads",
                                   "train.length=12st"};
    const bool crops = !more.empty() && more.front().starts_with("data.transforms=");
    if (!crops) words.push_back("data.transforms=[{RandSpatialCrop: {roi_size: [12, 12, 12]}}]");
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  void expect_nothing_was_started() {
    EXPECT_FALSE(std::filesystem::exists(folder() / "runs" / "latest")) << "a run was started";
  }

  ScratchFolder scratch_;
};

/// One sentence of what went wrong and one of what to do, no more.
void expect_one_error(const Finished& end, int status, const std::string& what) {
  EXPECT_EQ(end.status, status) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("larmor: "), HasSubstr("\n  hint: "), HasSubstr(what)));
  EXPECT_THAT(end.err, Not(HasSubstr("terminate called")));
}

TEST_F(BadInput, AValidationCropTooSmallForTheMetricsIsRefused) {
  put_file(heads() / "a.nii", nifti_bytes());
  const auto end = train({"data.transforms=[{RandSpatialCrop: {roi_size: [8, 8, 8]}}]"});
  expect_one_error(
      end, usage,
      "leaves 8 voxels along an axis for validation, and SSIM, by which it is judged, looks at 11 at once");
  expect_nothing_was_started();
}

TEST_F(BadInput, ImagesOfOtherChannelsThanTheNetworkTakesAreRefusedBeforeAnyRankStarts) {
  put_heads(heads(), 4);
  const auto end = train({"model.in_channels=3", "model.out_channels=3"});
  expect_one_error(end, data, "the image has 1 channels, and the network takes 3");
  EXPECT_THAT(end.err, HasSubstr("t1.nii.gz: "));
  expect_nothing_was_started();
}

TEST_F(BadInput, AMistypedKeyIsNamedWithItsPlaceAndTheNearest) {
  put_file(folder() / "mine.yaml", "train:\n  lenght: 10st\n");
  const auto end = run({"train", "latent_diffusion", "-c", "mine.yaml"});
  expect_one_error(end, usage, "mine.yaml:2");
  EXPECT_THAT(end.err, HasSubstr("train.length"));
  expect_nothing_was_started();
}

TEST_F(BadInput, AKeyGivenTwiceIsADuplicate) {
  expect_one_error(run({"train", "latent_diffusion", "-c", "tiny", "run.seed=1", "run.seed=2"}), usage,
                   "run.seed");
}

TEST_F(BadInput, AKeyWrittenTwiceInAFileIsNamedWithItsPlace) {
  put_file(folder() / "mine.yaml", "run: {seed: 1}\ntrain: {length: 3st}\nrun: {seed: 2}\n");
  expect_one_error(run({"train", "latent_diffusion", "-c", "mine.yaml"}), usage, "mine.yaml:3");
}

TEST_F(BadInput, AFlagOfTheGuidesIsAnsweredWithOurKey) {
  const auto end = run({"train", "latent_diffusion", "--batch_size", "4"});
  expect_one_error(end, usage, "--batch-size");
  EXPECT_THAT(end.err, AllOf(HasSubstr("train.global_batch="), HasSubstr("train.micro_batch=")));
}

TEST_F(BadInput, AValueOutOfItsRangeIsRefused) {
  expect_one_error(run({"train", "latent_diffusion", "-c", "tiny", "optim.learning_rate=-1"}), usage,
                   "optim.learning_rate");
  expect_one_error(run({"train", "latent_diffusion", "-c", "tiny", "train.length=soon"}), usage,
                   "train.length");
}

TEST_F(BadInput, ABatchThatCannotBeCutIsRefusedWithTheArithmetic) {
  const auto end = run({"train", "latent_diffusion", "-c", "tiny", "train.global_batch=4", "--ranks", "3"});
  expect_one_error(end, usage, "4");
  EXPECT_THAT(end.err, HasSubstr("3"));
  expect_one_error(run({"train", "latent_diffusion", "-c", "tiny", "--ranks", "1", "train.micro_batch=3"}),
                   usage, "train.micro_batch 3 × 1 rank = 3, but train.global_batch is 4");
  expect_nothing_was_started();
}

TEST_F(BadInput, AMissingFolderIsNamed) { expect_one_error(train(), data, "heads"); }

TEST_F(BadInput, AnEmptyFolderIsNamed) {
  std::filesystem::create_directories(heads());
  expect_one_error(train(), data, "heads");
}

TEST_F(BadInput, EveryFileThatCannotBeUsedIsListedBeforeARankStarts) {
  put_heads(heads(), 4);
  const auto whole = nifti_bytes();
  const auto packed = gzipped(whole);
  put_file(heads() / "p4" / "short.nii", whole.substr(0, whole.size() / 2));
  put_file(heads() / "p5" / "short.nii.gz", packed.substr(0, packed.size() / 2));
  put_file(heads() / "p6" / "lying.nii", nifti_bytes({.size = {30000, 30000, 30000}}));
  put_file(heads() / "p7" / "bomb.nii.gz", gzipped(nifti_bytes({.size = {30000, 30000, 30000}})));
  put_file(heads() / "p8" / "negative.nii", nifti_bytes({.size = {-1, 12, 12}}));
  put_file(heads() / "p9" / "empty.nii.gz", "");
  const auto end = train();
  expect_one_error(end, data, "6 files cannot be used");
  for (const auto* name : {"p4/short.nii", "p5/short.nii.gz", "p6/lying.nii", "p7/bomb.nii.gz",
                           "p8/negative.nii", "p9/empty.nii.gz"}) {
    EXPECT_THAT(end.err, HasSubstr(name));
  }
  expect_nothing_was_started();

  const auto prepared =
      run({"prepare", "latent_diffusion", "-c", "tiny", "data.kind=nifti", "data.folder=heads", "--json"});
  EXPECT_EQ(prepared.status, data);
  EXPECT_EQ(prepared.json()["bad"].size(), 6U);
}

TEST_F(BadInput, InspectShowsTheGoodFilesAndTheReasonsOfTheBad) {
  const auto whole = nifti_bytes();
  put_file(folder() / "good.nii", whole);
  put_file(folder() / "short.nii", whole.substr(0, 1000));
  const auto end = run({"inspect", "good.nii", "short.nii", "--json"});
  EXPECT_EQ(end.status, data);
  const auto files = end.json();
  ASSERT_EQ(files.size(), 2U);
  EXPECT_TRUE(files[0]["problems"].empty()) << files[0];
  EXPECT_EQ(files[0]["shape"], Json::array({12, 12, 12}));
  EXPECT_FALSE(files[1]["problems"].empty());
}

TEST_F(BadInput, APatientOfTwoSplitsIsNamed) {
  put_heads(heads(), 2);
  put_file(folder() / "list.csv",
           "image,patient,split\nheads/p0/t1.nii.gz,anna,train\nheads/p1/t1.nii.gz,anna,val\n");
  const auto end = train({"data.kind=list", "data.list=list.csv", "data.folder=."});
  EXPECT_EQ(end.status, usage) << "data.kind and data.folder are given twice";
  const auto listed = run(
      {"train", "latent_diffusion", "-c", "tiny", "--ranks", "1", "data.kind=list", "data.list=list.csv"});
  expect_one_error(listed, data, "anna");
}

TEST_F(BadInput, TooFewPatientsForAValidationAreNamedWithTheWayOut) {
  put_heads(heads(), 1);
  const auto end = train();
  expect_one_error(end, data, "val");
  EXPECT_THAT(end.err, HasSubstr("data.split.val"));
  expect_nothing_was_started();
}

TEST_F(BadInput, TrainingGoesWithoutAValidationWhenAskedTo) {
  put_heads(heads(), 5);
  const auto end = train({"data.split.val=0", "train.validate_every=0"});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_TRUE(events_of(folder() / end.run_folder(), "validation").empty());
}

TEST_F(BadInput, AFileThatFailsInTrainingIsPassedOverAndKeptInTheQuarantine) {
  put_heads(heads(), 5);
  auto packed = gzipped(nifti_bytes());
  packed[packed.size() / 2] ^= 0x10;  // whole by its header and its length
  put_file(heads() / "p5" / "t1.nii.gz", packed);
  const auto end = train({"data.split.val=[p0]"});
  ASSERT_EQ(end.status, 0) << end.err;
  const auto run = folder() / end.run_folder();
  const auto quarantine = read_json(run / "quarantine.json");
  ASSERT_EQ(quarantine.size(), 1U);
  EXPECT_EQ(quarantine[0]["path"], "p5/t1.nii.gz");
  const auto warnings = events_of(run, "warning");
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0]["text"].get<std::string>(), HasSubstr("p5/t1.nii.gz"));

  const auto strict = train({"data.split.val=[p0]", "data.bad_files=0"});
  EXPECT_EQ(strict.status, data) << strict.err;
  EXPECT_THAT(strict.err, HasSubstr("p5/t1.nii.gz"));
}

TEST_F(BadInput, RealOddFilesAreShownOrRefusedButNeverCrash) {
  const auto odd = shared_data() / "odd";
  if (!std::filesystem::exists(odd)) GTEST_SKIP() << "the folder of real images is not on this machine";
  for (const auto& item : std::filesystem::recursive_directory_iterator(odd)) {
    if (!item.is_regular_file() || item.path().string().find(".nii") == std::string::npos) continue;
    const auto end = run({"inspect", item.path().string(), "--json"});
    EXPECT_TRUE(end.status == 0 || end.status == data) << item.path() << ": " << end.status << "\n"
                                                       << end.err;
    EXPECT_EQ(end.json().size(), 1U) << item.path();
  }
}

}  // namespace
}  // namespace larmor::testing
