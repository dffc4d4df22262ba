// `predict` takes what training took: case folders by the modalities of the run, and no target that it never
// saw.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int usage = 2, bad_data = 3, heads = 5;

/// Heads as BraTS has them, of which only the one that is validated on has a t2f.
class PredictForms : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new ScratchFolder;
    for (int head = 0; head < heads; ++head) {
      put_head(head, {"t1n", "t1c", "t2w", "seg"});
      if (head == 0) put_head(head, {"t2f"});
    }
    const auto end = call({"train", "fast_ddpm", "-c", "tiny", "--ranks", "1", "run.name=heads",
                           "data.kind=nifti", "data.folder=BraTS", "data.split.val=[BraTS-GLI-00000]",
                           "data.modalities={t1n: [t1n], t1c: [t1c], t2w: [t2w], t2f: [t2f]}",
                           "train.length=2st", "train.validate_every=2st", "optim.schedule.warmup=0"});
    ASSERT_EQ(end.status, 0) << end.err;
  }
  static void TearDownTestSuite() {
    delete scratch_;
    scratch_ = nullptr;
  }

  static std::string name_of(int head) { return text("BraTS-GLI-0000", head, "-000"); }
  static void put_head(int head, const std::vector<std::string>& modalities) {
    int number = head * 10;
    for (const std::string& modality : modalities)
      put_file(folder() / "BraTS" / name_of(head) / text(name_of(head), "-", modality, ".nii"),
               nifti_bytes({.size = {13, 12, 12}, .voxels = 13 * 12 * 12, .number = ++number}));
  }
  static fs::path folder() { return scratch_->path(); }
  static Finished call(std::vector<std::string> words) {
    return larmor_program(std::move(words), {.folder = folder()});
  }
  static Finished predict(const std::string& input, const std::string& output,
                          std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"predict", "runs/heads", "--input", input, "--output", output});
    return call(more);
  }

 private:
  static inline ScratchFolder* scratch_ = nullptr;
};

TEST_F(PredictForms, ACaseFolderIsWhatItsFilesAre) {
  const auto of_folder = predict("BraTS/" + name_of(1), "t2w.nii", {"--input", "target=t2w"});
  ASSERT_EQ(of_folder.status, 0) << of_folder.err;
  EXPECT_THAT(of_folder.err, AllOf(HasSubstr("passed over: 1 file"), HasSubstr("seg.nii")));
  const std::string stem = "BraTS/" + name_of(1) + "/" + name_of(1);
  const auto by_names = predict("t1n=" + stem + "-t1n.nii", "named.nii",
                                {"--input", "t1c=" + stem + "-t1c.nii", "--input", "target=t2w"});
  ASSERT_EQ(by_names.status, 0) << by_names.err;
  EXPECT_EQ(read_text(folder() / "t2w.nii"), read_text(folder() / "named.nii"))
      << "what the folder has of the target is not looked at";
}

TEST_F(PredictForms, AFolderOfCaseFoldersIsThoseCases) {
  const auto end = predict("BraTS", "all/", {"--input", "target=t2w", "--ranks", "2"});
  ASSERT_EQ(end.status, 0) << end.err;
  for (int head = 0; head < heads; ++head)
    EXPECT_TRUE(fs::exists(folder() / "all" / (name_of(head) + ".nii.gz")));
}

TEST_F(PredictForms, ATargetThatNoTrainingCaseHadIsRefused) {
  for (const std::vector<std::string>& asked : {std::vector<std::string>{}, {"--input", "target=t2f"}}) {
    const auto end = predict("BraTS/" + name_of(1), "never.nii", asked);
    EXPECT_EQ(end.status, usage);
    EXPECT_THAT(end.err, AllOf(HasSubstr("no training case had t2f"),
                               HasSubstr("training saw t1n (4 cases), t1c (4 cases), t2w (4 cases)")));
  }
  EXPECT_FALSE(fs::exists(folder() / "never.nii"));
}

TEST_F(PredictForms, AFolderOfOtherNamesIsRefusedWithThoseThatAreLookedFor) {
  put_file(folder() / "other" / "a-flair.nii", nifti_bytes());
  const auto end = predict("other", "no.nii", {"--input", "target=t2w"});
  EXPECT_EQ(end.status, bad_data);
  EXPECT_THAT(end.err, AllOf(HasSubstr("looked for t1n (t1n)"), HasSubstr("data.modalities={")));
  const std::string names = "data.modalities={t1n: [flair], t2w: [t2w]}";
  const auto misplaced = predict("other", "no.nii", {"--input", "target=t2w", names});
  EXPECT_THAT(misplaced.err, HasSubstr("say it before --input: larmor predict RUN '" + names + "'"));
  const auto renamed = call(
      {"predict", "runs/heads", names, "--input", "other", "--input", "target=t2w", "--output", "yes.nii"});
  EXPECT_EQ(renamed.status, 0) << "the hint leads on: " << renamed.err;
}

}  // namespace
}  // namespace larmor::testing
