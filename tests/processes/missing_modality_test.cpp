// `predict` of fast_ddpm: a modality of a head from the others, on their grid, the same however the heads are
// shared.
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int usage = 2, bad_data = 3;
constexpr std::size_t voxel_offset = 352;

class MissingModality : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new ScratchFolder;
    const auto end =
        call({"train", "fast_ddpm", "-c", "tiny", "--ranks", "1", "run.name=heads", "train.length=6st",
              "train.validate_every=3st", "checkpoint.every=3st", "optim.schedule.warmup=0"});
    ASSERT_EQ(end.status, 0) << end.err;
    std::string table = "case,t1n,t1c,t2w,t2f,target\n";
    for (const std::string head : {"a", "b", "c"}) {
      // Sizes that the network cannot halve, and not the voxels that it was trained with.
      const int64_t depth = head == "c" ? 12 : 13;
      for (const std::string modality : {"t1n", "t1c", "t2w", "t2f"})
        put_file(folder() / (head + "-" + modality + ".nii"),
                 nifti_bytes(
                     {.size = {depth, 10, 9}, .spacing = 1.5F, .voxels = static_cast<uint64_t>(depth) * 90}));
      const auto file = [&](const std::string& modality) { return head + "-" + modality + ".nii"; };
      table += head + "," + file("t1n") + "," + (head == "b" ? "" : file("t1c")) + "," + file("t2w") + ",," +
               (head == "b" ? "t1c" : "t2f") + "\n";
    }
    put_file(folder() / "heads.csv", table);
  }
  static void TearDownTestSuite() {
    delete scratch_;
    scratch_ = nullptr;
  }

  static fs::path folder() { return scratch_->path(); }
  static Finished call(std::vector<std::string> words) {
    return larmor_program(std::move(words), {.folder = folder()});
  }
  static Finished predict(const std::vector<std::string>& inputs, const std::string& output,
                          const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"predict", "runs/heads"};
    for (const auto& input : inputs) words.insert(words.end(), {"--input", input});
    words.insert(words.end(), {"--output", output});
    words.insert(words.end(), more.begin(), more.end());
    return call(words);
  }
  /// What is generated of three modalities of the first head.
  static std::string generated(const std::vector<std::string>& more = {}) {
    const auto end = predict(three_, "out.nii", more);
    EXPECT_EQ(end.status, 0) << end.err;
    return read_text(folder() / "out.nii");
  }
  static std::map<std::string, std::string> files_in(const std::string& output) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder() / output))
      files[entry.path().filename().string()] = read_text(entry.path());
    return files;
  }

  static inline const std::vector<std::string> three_{"t1n=a-t1n.nii", "t1c=a-t1c.nii", "t2w=a-t2w.nii"};

 private:
  static inline ScratchFolder* scratch_ = nullptr;
};

TEST_F(MissingModality, LiesOnTheGridOfTheOthersFromZeroToAThousand) {
  const auto written = generated();
  const auto given = read_text(folder() / "a-t1n.nii");
  ASSERT_EQ(written.size(), given.size());
  EXPECT_EQ(written.substr(40, 16), given.substr(40, 16)) << "axes";
  EXPECT_EQ(written.substr(76, 16), given.substr(76, 16)) << "spacing";
  float least = 1e9F, most = -1e9F;
  for (std::size_t place = voxel_offset; place < written.size(); place += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, written.data() + place, sizeof(value));
    least = std::min(least, value);
    most = std::max(most, value);
  }
  EXPECT_GE(least, 0);
  EXPECT_LE(most, 1000);
  EXPECT_GT(most - least, 100) << "a volume of one value tests nothing";
}

TEST_F(MissingModality, IsTheSameAgainAndAnotherOfAnotherSeedOrInWindows) {
  const auto first = generated();
  EXPECT_EQ(generated(), first);
  EXPECT_NE(generated({"--seed", "9"}), first);
  EXPECT_NE(generated({"model.sampling.always_in_windows=true"}), first);
  EXPECT_NE(generated({"--no-ema"}), first) << "the stage predicts by its average";
}

TEST_F(MissingModality, IsTheSameOnOneTwoAndThreeRanks) {
  const auto shared_out = [](const std::string& ranks) {
    const auto output = "of_" + ranks;
    const auto end =
        call({"predict", "runs/heads", "--table", "heads.csv", "--output", output + "/", "--ranks", ranks});
    EXPECT_EQ(end.status, 0) << end.err;
    return files_in(output);
  };
  const auto alone = shared_out("1");
  ASSERT_EQ(alone.size(), 3U);
  for (const auto* ranks : {"2", "3"}) EXPECT_EQ(shared_out(ranks), alone) << ranks;
}

TEST_F(MissingModality, HasToBeNamedWhereMoreThanOneIsMissing) {
  const std::vector<std::string> two{"t1n=a-t1n.nii", "t2w=a-t2w.nii"};
  const auto unsaid = predict(two, "no.nii");
  EXPECT_EQ(unsaid.status, usage);
  EXPECT_THAT(unsaid.err, AllOf(HasSubstr("these are missing: t1c, t2f"), HasSubstr("--input target=NAME")));
  const auto unknown = predict({"t1n=a-t1n.nii", "t2w=a-t2w.nii", "target=pd"}, "no.nii");
  EXPECT_EQ(unknown.status, usage);
  EXPECT_THAT(unknown.err, HasSubstr("target=pd is none of"));
  EXPECT_FALSE(fs::exists(folder() / "no.nii"));
  const auto said = predict({"t1n=a-t1n.nii", "t2w=a-t2w.nii", "target=t2f"}, "said.nii");
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_NE(read_text(folder() / "said.nii"), generated()) << "t1c is no longer there";
}

TEST_F(MissingModality, NeedsTheOthersOnOneGrid) {
  const auto end = predict({"t1n=a-t1n.nii", "t1c=c-t1c.nii", "t2w=a-t2w.nii"}, "no.nii");
  EXPECT_EQ(end.status, bad_data);
  EXPECT_THAT(end.err, AllOf(HasSubstr("t1c: its grid has 12 x 10 x 9 voxels, and that of t1n"),
                             HasSubstr("data.grids=resample")));
  EXPECT_FALSE(fs::exists(folder() / "no.nii"));
  const auto sampled =
      predict({"t1n=a-t1n.nii", "t1c=c-t1c.nii", "t2w=a-t2w.nii"}, "sampled.nii", {"data.grids=resample"});
  EXPECT_EQ(sampled.status, 0) << sampled.err;
  EXPECT_EQ(read_text(folder() / "sampled.nii").size(), generated().size());
}

TEST_F(MissingModality, IsMadeOfWhatTheStepsForTheImageHavePrepared) {
  const auto transforms = [](const std::string& keys) {
    return std::vector<std::string>{
        "data.transforms=[{ScaleIntensityRangePercentiles: {lower: 10, upper: 90, b_min: -1, b_max: 1, "
        "channel_wise: true" +
        keys + "}}]"};
  };
  const auto by_all = generated(transforms(""));
  EXPECT_EQ(generated(transforms(", keys: [image]")), by_all);
  EXPECT_EQ(generated(transforms(", keys: image")), by_all);
  EXPECT_NE(generated(transforms(", keys: label")), by_all);
  const auto said = predict(three_, "said.nii", transforms(", keys: image_t1n"));
  EXPECT_EQ(said.status, 0);
  EXPECT_THAT(said.err, HasSubstr("none of the volumes of a prediction (image): "
                                  "ScaleIntensityRangePercentiles (image_t1n)"));
}

}  // namespace
}  // namespace larmor::testing
