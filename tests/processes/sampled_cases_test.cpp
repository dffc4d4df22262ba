// Several samples of one case: their files, their mean and deviation, the same however the work is shared.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/image.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int usage = 2;

class SampledCases : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new ScratchFolder;
    for (const int side : {0, 1}) {
      Image image{.width = 40, .height = 48, .pixels = std::vector<uint8_t>(40 * 48)};
      for (std::size_t i = 0; i < image.pixels.size(); ++i)
        image.pixels[i] = static_cast<uint8_t>(side == 0 ? i / 8 : 5 * (i % 40));
      put_file(folder() / (side == 0 ? "pa.png" : "lateral.png"), encode_png(image));
    }
    const auto end = call({"train", "xray_to_ct", "--stage", "stage1", "-c", "tiny", "--ranks", "1",
                           "run.name=one", "train.length=6st", "train.validate_every=3st",
                           "checkpoint.every=3st", "optim.schedule.warmup=0"});
    ASSERT_EQ(end.status, 0) << end.err;
  }
  static void TearDownTestSuite() {
    delete scratch_;
    scratch_ = nullptr;
  }

  static fs::path folder() { return scratch_->path(); }
  static Finished call(std::vector<std::string> words) {
    return larmor_program(std::move(words), {.folder = folder()});
  }
  static Json predicted(std::vector<std::string> more, const std::string& output) {
    std::vector<std::string> words{"predict",   "runs/one", "--input",
                                   "pa=pa.png", "--input",  "lateral=lateral.png",
                                   "--output",  output,     "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto end = call(words);
    EXPECT_EQ(end.status, 0) << end.err;
    return end.json();
  }
  static std::map<std::string, std::string> files_in(const std::string& output) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder() / output))
      files[entry.path().filename().string()] = read_text(entry.path());
    return files;
  }
  static double mean_of(const std::string& file) {
    return call({"inspect", file, "--json"}).json().at(0).at("mean").get<double>();
  }

 private:
  static inline ScratchFolder* scratch_ = nullptr;
};

TEST_F(SampledCases, HaveAFileEachAndTheirMeanAndDeviationBesideThem) {
  const auto rows = predicted({"--count", "3"}, "many/");
  std::vector<std::string> names;
  for (const auto& [name, bytes] : files_in("many")) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("pa-0000.nii.gz", "pa-0001.nii.gz", "pa-0002.nii.gz", "pa-deviation.nii.gz",
                                 "pa-mean.nii.gz", "predictions.csv"));
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[2]["case"], "pa-0002");
  EXPECT_EQ(rows[3]["case"], "pa");
  EXPECT_EQ(rows[3]["samples"], 3);
  EXPECT_EQ(rows[3]["outputs"]["mean"], "many/pa-mean.nii.gz");
  double sum = 0;
  for (const auto* sample : {"0", "1", "2"}) sum += mean_of(std::string("many/pa-000") + sample + ".nii.gz");
  const double mean = mean_of("many/pa-mean.nii.gz");
  EXPECT_NEAR(mean, sum / 3, 1e-3 * std::abs(mean)) << "in HU";
  EXPECT_GT(mean_of("many/pa-deviation.nii.gz"), 0);
}

// A radiograph has no grid of voxels that a volume could be on.
TEST_F(SampledCases, LieInACubeOfTheirOwnAroundTheMiddleInHounsfieldUnits) {
  EXPECT_EQ(predicted({}, "cube.nii.gz").at(0).at("units"), "HU");
  const auto report = call({"inspect", "cube.nii.gz", "--json"}).json().at(0);
  EXPECT_EQ(report["shape"], Json::array({8, 8, 8}));
  EXPECT_EQ(report["spacing_mm"], Json::array({50.0, 50.0, 50.0})) << "data.extent is 400 mm";
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double middle = report["affine"][axis][3].get<double>();
    for (std::size_t i = 0; i < 3; ++i) middle += 3.5 * report["affine"][axis][i].get<double>();
    EXPECT_NEAR(middle, 0, 1e-6) << axis;
  }
  EXPECT_GE(report["min"].get<double>(), -1000);
  EXPECT_LE(report["max"].get<double>(), 3000);
  EXPECT_LT(report["mean"].get<double>(), -100) << "most of it is air, which is about -1000 HU";
}

TEST_F(SampledCases, AreOfNoMirroredRadiographs) {
  const auto end = call({"predict", "runs/one", "--input", "pa=pa.png", "--input", "lateral=lateral.png",
                         "--output", "mirrored.nii.gz", "--mirrored"});
  EXPECT_EQ(end.status, usage);
  EXPECT_THAT(end.err, HasSubstr("where the rays of its radiographs come from"));
}

TEST_F(SampledCases, AreTheSameOnOneTwoAndThreeRanks) {
  predicted({"--count", "3"}, "ranks_1/");
  const auto files = files_in("ranks_1");
  EXPECT_NE(files.at("pa-0000.nii.gz"), files.at("pa-0001.nii.gz")) << "each sample draws its own";
  for (const auto* ranks : {"2", "3"}) {
    const auto output = std::string("ranks_") + ranks;
    predicted({"--count", "3", "--ranks", ranks}, output + "/");
    EXPECT_EQ(files_in(output), files) << ranks;
  }
}

TEST_F(SampledCases, BeginWithWhatIsPredictedOnceAndDoNotDependOnTheirNumber) {
  predicted({}, "once.nii.gz");
  predicted({"--count", "2"}, "two/");
  predicted({"--count", "4"}, "four/");
  const auto once = read_text(folder() / "once.nii.gz");
  EXPECT_EQ(files_in("two").at("pa-0000.nii.gz"), once);
  EXPECT_EQ(files_in("four").at("pa-0001.nii.gz"), files_in("two").at("pa-0001.nii.gz"));
  predicted({"--count", "1"}, "same.nii.gz");
  EXPECT_EQ(read_text(folder() / "same.nii.gz"), once);
  predicted({"--count", "2", "--seed", "9"}, "other/");
  EXPECT_NE(files_in("other").at("pa-0000.nii.gz"), once);
}

TEST_F(SampledCases, OfATableAreThoseOfEachRow) {
  put_file(folder() / "cases.csv", "case,pa,lateral\nfirst,pa.png,lateral.png\nsecond,lateral.png,pa.png\n");
  const auto end = call({"predict", "runs/one", "--table", "cases.csv", "--count", "2", "--ranks", "2",
                         "--output", "table/", "--json"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(end.json().size(), 6U);
  EXPECT_EQ(files_in("table").size(), 9U) << "two samples and two volumes of each, and the numbers";
  EXPECT_EQ(end.json().at(5).at("inputs").at("pa"), "lateral.png");
}

TEST_F(SampledCases, AreRefusedInOneSentence) {
  const auto refused = [](std::vector<std::string> more) {
    std::vector<std::string> words{"predict", "runs/one", "--output", "none/"};
    words.insert(words.end(), more.begin(), more.end());
    const auto end = call(words);
    EXPECT_EQ(end.status, usage);
    return end.err;
  };
  EXPECT_THAT(refused({"--count", "2"}), HasSubstr("the input pa is missing"));
  EXPECT_THAT(refused({"--input", "pa=pa.png", "--input", "lateral=lateral.png", "--count", "0"}),
              HasSubstr("--count is 0"));
}

TEST_F(SampledCases, OtherCasesAreHeldAgainstTheMeanOfTheRunsOwnTrainingCases) {
  const auto mean_volume = [](std::vector<std::string> more) {
    std::vector<std::string> words{"evaluate", "runs/one", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto end = call(words);
    EXPECT_EQ(end.status, 0) << end.err;
    return end.json()["psnr_mean_volume"]["mean"].get<double>();
  };
  const double own = mean_volume({});
  // Of the other cases' own mean they would be next to nothing away.
  EXPECT_NEAR(mean_volume({"data.phantom_cases=1", "data.phantom_seed=77", "--split", "test"}), own, 10);
}

}  // namespace
}  // namespace larmor::testing
