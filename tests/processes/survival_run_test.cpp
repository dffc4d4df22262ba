// From a table to predictions, as the guide's user would go.
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int usage = 2, data = 3;
constexpr int patients = 12;

/// Twelve small volumes and the guide's table of them; two thirds are for training.
class Survival : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new ScratchFolder;
    std::string table = "case_num,NIFTI path,time,event,Fold_1\n";
    for (int i = 0; i < patients; ++i) {
      put_file(folder() / text(i, ".nii"),
               nifti_bytes({.size = {10, 9, 8}, .voxels = 10 * 9 * 8, .number = i}));
      table += text(i, ",", i, ".nii,", 200 + 100 * i, ",", i % 4 == 0 ? 0 : 1, ",",
                    i % 3 == 2 ? "val" : "train", "\n");
    }
    put_file(folder() / "dataset.csv", table);
  }
  static void TearDownTestSuite() {
    delete scratch_;
    scratch_ = nullptr;
  }

  static std::filesystem::path folder() { return scratch_->path(); }
  static Finished call(std::vector<std::string> words) {
    return larmor_program(std::move(words), {.folder = folder()});
  }
  static Finished train(std::vector<std::string> more) {
    more.insert(more.begin(),
                {"train", "survival", "data.list=dataset.csv", "model.depth=10", "model.widen_factor=0.125",
                 "model.norm=group", "data.transforms=[{Resize: {spatial_size: [8, 8, 8], mode: area}}]",
                 "train.global_batch=4", "train.length=4st", "train.validate_every=2st"});
    return call(more);
  }

 private:
  static inline ScratchFolder* scratch_ = nullptr;
};

TEST_F(Survival, GoesFromATableToPredictionsOnTwoRanks) {
  const auto trained = train({"run.name=run", "--ranks", "2"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_THAT(trained.out + trained.err,
              AllOf(HasSubstr("image NIFTI path"), HasSubstr("events: 6 of 8 in train, 3 of 4 in val")));

  const auto report = call({"evaluate", "runs/run", "--json"}).json();
  EXPECT_EQ(report.at("n"), 4);
  for (const auto* name : {"c_index", "c_index_ipcw", "auc", "brier", "ibs"})
    EXPECT_TRUE(report.at(name).contains("mean")) << name;
  EXPECT_EQ(report.at("auc").at("per_horizon").size(), 3U) << "one, two and three years";
  EXPECT_EQ(report.at("risk").at("per_case").at(0).at("case"), "11.nii");

  const auto predicted =
      call({"predict", "runs/run", "--input", "3.nii", "--input", "5.nii", "--output", "out.csv"});
  ASSERT_EQ(predicted.status, 0) << predicted.err;
  const auto table = split(read_text(folder() / "out.csv"), '\n');
  EXPECT_EQ(table.at(0), "case,risk,percentile,survival_1y,survival_2y,survival_3y");
  EXPECT_THAT(table.at(1), StartsWith("3.nii,"));
  EXPECT_THAT(table.at(2), StartsWith("5.nii,"));

  const auto of_table = call({"predict", "runs/run", "--table", "dataset.csv", "--json"});
  ASSERT_EQ(of_table.status, 0) << of_table.err;
  EXPECT_EQ(of_table.json().size(), static_cast<std::size_t>(patients)) << "the table of training, as it is";
  EXPECT_NEAR(of_table.json().at(3).at("risk").get<double>(), std::stod(split(table.at(1), ',').at(1)), 1e-4);
  put_file(folder() / "odd.csv", "NIFTI path,colour\n3.nii,red\n");
  const auto odd = call({"predict", "runs/run", "--table", "odd.csv"});
  EXPECT_EQ(odd.status, usage);
  EXPECT_THAT(odd.err, AllOf(HasSubstr("there is no input colour"), HasSubstr("NIFTI path is its image")));
}

/// Step 2 has a validation of its own, and step 3 other weights.
TEST_F(Survival, PredictsProbabilitiesWithTheBaselineOfTheCheckpointsOwnWeightsAlone) {
  const auto stopped = train({"run.name=stopped", "checkpoint.every=1st", "--steps", "3"});
  ASSERT_EQ(stopped.status, 0) << stopped.err;
  const auto predicted = [&](const char* checkpoint) {
    return call({"predict", "runs/stopped", "--checkpoint", checkpoint, "--input", "3.nii", "--output",
                 text(checkpoint, ".csv")});
  };
  const auto header = [&](const char* checkpoint) {
    return split(read_text(folder() / text(checkpoint, ".csv")), '\n').at(0);
  };
  const auto of_best = predicted("best"), of_last = predicted("last");
  ASSERT_EQ(of_best.status, 0) << of_best.err;
  ASSERT_EQ(of_last.status, 0) << of_last.err;
  EXPECT_EQ(header("best"), "case,risk,percentile,survival_1y,survival_2y,survival_3y");
  EXPECT_THAT(of_best.err, Not(HasSubstr("only the risk is given")));
  EXPECT_EQ(header("last"), "case,risk");
  EXPECT_THAT(of_last.err, HasSubstr("only the risk is given"));
}

TEST_F(Survival, StartsFromWeightsOfAFileThatAJudgedRunNoLongerNeeds) {
  ASSERT_EQ(train({"run.name=first"}).status, 0);
  ASSERT_EQ(call({"export", "runs/first", "--output", "start.safetensors"}).status, 0);
  const auto trained = train({"run.name=second", "model.weights=start.safetensors"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_THAT(trained.err, AllOf(HasSubstr("start.safetensors"), HasSubstr("fc.weight")));
  std::filesystem::remove(folder() / "start.safetensors");
  EXPECT_EQ(call({"evaluate", "runs/second"}).status, 0);

  const auto absent = train({"run.name=third", "model.weights=start.safetensors"});
  EXPECT_EQ(absent.status, usage);
  EXPECT_THAT(absent.err, HasSubstr("larmor: there is no file start.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(folder() / "runs" / "third"));
}

TEST_F(Survival, RefusesBeforeAnythingStarts) {
  const auto refused = [&](std::vector<std::string> more, int status, const char* words) {
    more.insert(more.begin(), {"train", "survival", "run.name=refused"});
    const auto end = call(std::move(more));
    EXPECT_EQ(end.status, status) << end.err;
    EXPECT_THAT(end.err, HasSubstr(words));
    EXPECT_FALSE(std::filesystem::exists(folder() / "runs" / "refused"));
  };
  const std::string list = "data.list=dataset.csv";
  refused({list, "train.global_batch=4", "data.horizons=[9y]"}, data, "the horizon 9y");
  refused({list, "train.global_batch=4", "data.columns.event=happened"}, data, "no column happened");
  refused({list, "train.global_batch=4", "data.folds.val=[nobody]"}, data, "the split val has no cases");
  refused({list, "train.global_batch=9", "--ranks", "9"}, usage, "9");
  refused({"data.kind=nifti", "data.folder=."}, usage, "survival needs times and events");
  refused({list, "model.depth=19"}, usage, "no such ResNet");
  refused({list, "loss.events_per_batch=2", "data.cache=smart"}, usage, "SmartCache");
  refused({list, "loss.events_per_batch=4", "train.global_batch=4"}, usage, "loss.events_per_batch is 4");
}

}  // namespace
}  // namespace larmor::testing
