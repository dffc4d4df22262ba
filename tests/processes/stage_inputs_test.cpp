// What the stages of the toy take for predictions: nothing, or two images, another on a grid of its own and a
// text; shared among ranks, and refused where they do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"
#include "tests/processes/support/toy_program.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int usage = 2, bad_data = 3;

class StageInputs : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new ScratchFolder;
    put_cases();
    const auto end = call(
        {"train", "toy", "--stage", "all", "-c", "tiny", "--ranks", "1", "run.name=toys", "train.length=6st",
         "train.validate_every=3st", "checkpoint.every=3st", "optim.schedule.warmup=0", "optim.ema_decay=0.9",
         "refiner:data.kind=nifti", "refiner:data.folder=cases",
         "refiner:data.modalities={t1: [t1], t2: [t2], guide: [guide]}", "refiner:data.transforms=[]"});
    ASSERT_EQ(end.status, 0) << end.err;
    put_table();
  }
  static void TearDownTestSuite() {
    delete scratch_;
    scratch_ = nullptr;
  }

  static fs::path folder() { return scratch_->path(); }
  static Finished call(std::vector<std::string> words) {
    return larmor_program(std::move(words), {.folder = folder(), .program = toy_program()});
  }
  /// The JSON of a call that writes volumes into `output`, without their places.
  static Json predicted(std::vector<std::string> words, const std::string& output) {
    words.insert(words.end(), {"--output", output + "/", "--json"});
    const auto end = call(words);
    EXPECT_EQ(end.status, 0) << end.err;
    auto rows = end.json();
    for (auto& row : rows) row.erase("outputs");
    return rows;
  }
  static std::map<std::string, std::string> files_in(const std::string& output) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder() / output))
      files[entry.path().filename().string()] = read_text(entry.path());
    return files;
  }

 private:
  static void put_cases() {
    for (int number = 0; number < 12; ++number) {
      const auto stem = (folder() / "cases" / ("c" + std::to_string(number))).string();
      const auto t1 = nifti_bytes({.size = {8, 8, 8}, .voxels = 512, .number = number});
      put_file(stem + "_t1.nii", t1);
      if (number % 3 != 2) put_file(stem + "_t2.nii", t1);
      put_file(stem + "_guide.nii",
               nifti_bytes({.size = {4, 4, 4}, .spacing = 2, .voxels = 64, .number = number}));
    }
  }
  /// Five cases: of the third there is no t2.
  static void put_table() {
    std::string rows = "case,t1,t2,guide,asked\n";
    for (int number = 0; number < 5; ++number) {
      const auto stem = "cases/c" + std::to_string(number);
      rows += "p" + std::to_string(number) + "," + stem + "_t1.nii," + (number == 2 ? "" : stem + "_t2.nii") +
              "," + stem + "_guide.nii," + (number % 2 == 0 ? "dark" : "bright") + "\n";
    }
    put_file(folder() / "table.csv", rows);
  }

  static inline ScratchFolder* scratch_ = nullptr;
};

TEST_F(StageInputs, OfASamplerAreNoneAndItsSamplesTheSameOnOneTwoAndThreeRanks) {
  const std::vector<std::string> words{"predict", "runs/toys-coder", "--count", "5"};
  const auto rows = predicted(words, "samples_1");
  const auto files = files_in("samples_1");
  ASSERT_EQ(files.size(), 5U);
  EXPECT_NE(files.begin()->second, files.rbegin()->second) << "each sample draws its own";
  for (const auto* ranks : {"2", "3"}) {
    auto shared = words;
    shared.insert(shared.end(), {"--ranks", ranks});
    const auto output = std::string("samples_") + ranks;
    EXPECT_EQ(predicted(shared, output), rows) << ranks;
    EXPECT_EQ(files_in(output), files) << ranks;
  }
  auto other = words;
  other.insert(other.end(), {"--seed", "9"});
  predicted(other, "samples_of_9");
  EXPECT_NE(files_in("samples_of_9"), files);
}

TEST_F(StageInputs, OfATableGiveTheSameVolumesNumbersAndWordsOnOneTwoAndThreeRanks) {
  const std::vector<std::string> words{"predict", "runs/toys-refiner", "--table", "table.csv"};
  const auto rows = predicted(words, "refined_1");
  const auto files = files_in("refined_1");
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(files.size(), 6U) << "with the table of numbers and words";
  EXPECT_EQ(rows[1]["values"]["said"], "bright");
  for (const auto* ranks : {"2", "3"}) {
    auto shared = words;
    shared.insert(shared.end(), {"--ranks", ranks});
    const auto output = std::string("refined_") + ranks;
    EXPECT_EQ(predicted(shared, output), rows) << ranks;
    EXPECT_EQ(files_in(output), files) << ranks;
  }
  predicted({"predict", "runs/toys-refiner", "--table", "table.csv", "--no-ema"}, "refined_live");
  EXPECT_NE(files_in("refined_live"), files) << "the stage predicts by its average";
}

TEST_F(StageInputs, ChangeWhatComesOutEachByItself) {
  const auto mean = [](std::vector<std::string> inputs) {
    std::vector<std::string> words{"predict", "runs/toys-refiner"};
    for (const auto& input : inputs) words.insert(words.end(), {"--input", input});
    words.insert(words.end(), {"--output", "one.nii.gz", "--json"});
    const auto end = call(words);
    EXPECT_EQ(end.status, 0) << end.err;
    return end.json().at(0).at("values").at("mean").get<double>();
  };
  const std::string t1 = "t1=cases/c0_t1.nii", t2 = "t2=cases/c0_t2.nii", guide = "guide=cases/c0_guide.nii";
  const auto plain = mean({t1});
  EXPECT_NE(mean({t1, t2}), plain);
  EXPECT_NE(mean({t1, guide}), plain);
  EXPECT_NE(mean({t1, "asked=bright"}), plain);
  EXPECT_EQ(mean({"cases/c0_t1.nii", "asked=dark"}), plain) << "the first input needs no name";
}

TEST_F(StageInputs, GiveTheSameFiguresHoweverTheyAreShared) {
  const auto alone = call({"evaluate", "runs/toys-refiner", "--json", "--split", "train"});
  ASSERT_EQ(alone.status, 0) << alone.err;
  EXPECT_EQ(alone.json()["averaged"], true);
  for (const auto* ranks : {"1", "2", "3"}) {
    for (const auto* batch : {"1", "2", "4"}) {
      const auto shared = call({"evaluate", "runs/toys-refiner", "--json", "--split", "train", "--ranks",
                                ranks, "--batch", batch});
      ASSERT_EQ(shared.status, 0) << shared.err;
      EXPECT_EQ(shared.out, alone.out) << ranks << " ranks, batches of " << batch;
    }
  }
}

TEST_F(StageInputs, AreRefusedBeforeAnythingIsLoaded) {
  const auto refused = [](const std::string& run, std::vector<std::string> more, int status) {
    std::vector<std::string> words{"predict", "runs/" + run, "--output", "none.nii.gz"};
    words.insert(words.end(), more.begin(), more.end());
    const auto end = call(words);
    EXPECT_EQ(end.status, status) << end.err;
    EXPECT_FALSE(fs::exists(folder() / "none.nii.gz"));
    return end.err;
  };
  const std::string t1 = "t1=cases/c0_t1.nii";
  EXPECT_THAT(refused("toys-refiner", {"--input", t1, "--input", "t3=cases/c0_t2.nii"}, usage),
              AllOf(HasSubstr("there is no input t3"), HasSubstr("did you mean")));
  EXPECT_THAT(refused("toys-refiner", {"--input", t1, "--input", "t1=cases/c1_t1.nii"}, usage),
              HasSubstr("the input t1 is given 2 times"));
  EXPECT_THAT(refused("toys-refiner", {"--input", "asked=dark"}, usage), HasSubstr("t1 is missing"));
  EXPECT_THAT(refused("toys-refiner", {"--input", "t1=bright"}, bad_data),
              HasSubstr("no file or folder bright"));
  EXPECT_THAT(refused("toys-refiner", {"--count", "2"}, usage), HasSubstr("sample without input"));
  EXPECT_THAT(refused("toys-coder", {"--input", "cases/c0_t1.nii"}, usage), HasSubstr("takes no input"));
  EXPECT_THAT(refused("toys-refiner", {"--input", t1, "--input", "asked=purple"}, usage),
              HasSubstr("neither dark nor bright"));
}

}  // namespace
}  // namespace larmor::testing
