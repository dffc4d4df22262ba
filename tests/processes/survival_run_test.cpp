// From a table to predictions, as the guide's user would go.
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

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

/// 120 patients whose event comes the sooner the older they are, whatever their image shows; half of them are
/// for training. Nobody knows the sex of every seventh.
class SurvivalWithCovariates : public Survival {
 protected:
  static constexpr int many = 120;
  static void SetUpTestSuite() {
    Survival::SetUpTestSuite();
    std::string table = "NIFTI path,time,event,fold,age,sex\n";
    for (int i = 0; i < many; ++i) {
      put_file(folder() / text("c", i, ".nii"),
               nifti_bytes({.size = {8, 8, 8}, .voxels = 8 * 8 * 8, .number = i}));
      table +=
          text("c", i, ".nii,", 2000 - 10 * age(i), ",1,", i % 2 == 0 ? "train" : "val", ",", age(i), ",",
               i % 7 == 0   ? ""
               : i % 3 == 0 ? "f"
                            : "m",
               "\n");
    }
    put_file(folder() / "covariates.csv", table);
  }
  static int age(int patient) { return 20 + (patient * 37) % many; }
  static Finished train_with(std::vector<std::string> more) {
    const std::vector<std::string> words = {"train",
                                            "survival",
                                            "data.list=covariates.csv",
                                            "model.depth=10",
                                            "model.widen_factor=0.125",
                                            "model.norm=group",
                                            "data.transforms=[]",
                                            "train.global_batch=12",
                                            "optim.learning_rate=1e-3",
                                            "train.validate_every=0"};
    more.insert(more.begin(), words.begin(), words.end());
    return call(more);
  }
  static inline const std::vector<std::string> columns_ = {"data.covariates.numbers=[age]",
                                                           "data.covariates.categories=[sex]"};
  static Finished train_by_columns(std::vector<std::string> more) {
    more.insert(more.begin(), columns_.begin(), columns_.end());
    return train_with(std::move(more));
  }
  static double c_index(const std::string& run) {
    return call({"evaluate", run, "--json"}).json().at("c_index").at("mean").get<double>();
  }
  static std::string weights_of(const std::string& run) {
    return call({"export", run, "--checkpoint", "last", "--output", "w.safetensors", "--json"})
        .json()
        .at("sha256")
        .get<std::string>();
  }
};

TEST_F(SurvivalWithCovariates, RanksByWhatTheTableSaysBesideTheImage) {
  const auto with = train_by_columns({"run.name=with", "train.length=60st"});
  ASSERT_EQ(with.status, 0) << with.err;
  EXPECT_THAT(with.out + with.err,
              HasSubstr("covariates: age (mean 79.00, deviation 34.64), sex (not given, f, m)"));
  ASSERT_EQ(train_with({"run.name=without", "train.length=60st"}).status, 0);
  EXPECT_GT(c_index("runs/with"), 0.95);
  EXPECT_NEAR(c_index("runs/without"), 0.5, 0.12);

  const auto per_case = call({"evaluate", "runs/with", "--json"}).json().at("risk").at("per_case");
  const auto of_table = call({"predict", "runs/with", "--table", "covariates.csv", "--json"});
  ASSERT_EQ(of_table.status, 0) << of_table.err;
  ASSERT_EQ(of_table.json().size(), static_cast<std::size_t>(many));
  std::map<std::string, double> judged;
  for (const auto& one : per_case) judged[one.at("case").get<std::string>()] = one.at("value").get<double>();
  ASSERT_EQ(judged.size(), static_cast<std::size_t>(many) / 2);
  for (int i = 1; i < many; i += 2)
    EXPECT_NEAR(of_table.json().at(static_cast<std::size_t>(i)).at("values").at("risk").get<double>(),
                judged.at(text("c", i, ".nii")), 1e-5)
        << i;
  const auto given = [&](const std::string& age, const std::string& sex) {
    return call({"predict", "runs/with", "--input", "c1.nii", "--input", "age=" + age, "--input",
                 "sex=" + sex, "--json"});
  };
  EXPECT_NEAR(given(text(age(1)), "m").json().at(0).at("values").at("risk").get<double>(),
              judged.at("c1.nii"), 1e-5);
  EXPECT_EQ(given("50", "").status, 0) << "training had cases without a sex";

  for (const auto& [end, status, words] :
       {std::tuple{given("old", "m"), usage, "the covariate age is \"old\", which is no number"},
        std::tuple{given("50", "x"), data, "the covariate sex is \"x\", and no training case had that"},
        std::tuple{given("", "m"), data, "the covariate age is not given, and every training case had one"},
        std::tuple{call({"predict", "runs/with", "--input", "c1.nii", "--input", "age=50"}), usage,
                   "the input sex is missing"}}) {
    EXPECT_EQ(end.status, status) << end.err;
    EXPECT_THAT(end.err, HasSubstr(words));
  }
}

TEST_F(SurvivalWithCovariates, PredictWithTheRunAlone) {
  ASSERT_EQ(train_with({"data.covariates.numbers=[age]", "run.name=number", "train.length=2st"}).status, 0);
  ASSERT_EQ(call({"export", "runs/number", "--output", "number.safetensors"}).status, 0);
  const auto alone =
      call({"predict", "survival", "--weights", "number.safetensors", "model.depth=10",
            "model.widen_factor=0.125", "model.norm=group", "data.list=covariates.csv", "data.transforms=[]",
            "data.covariates.numbers=[age]", "--input", "c1.nii", "--input", "age=50"});
  EXPECT_EQ(alone.status, usage) << "nobody says what 50 is to these weights";
  EXPECT_THAT(alone.err, HasSubstr("predict with the run that they come from"));
}

TEST_F(SurvivalWithCovariates, GoOnToTheBitAndOnAnyNumberOfRanks) {
  ASSERT_EQ(train_by_columns({"run.name=whole", "train.length=6st"}).status, 0);
  ASSERT_EQ(train_by_columns({"run.name=parts", "train.length=6st", "--steps", "3"}).status, 0);
  ASSERT_EQ(call({"train", "runs/parts"}).status, 0);
  EXPECT_EQ(weights_of("runs/parts"), weights_of("runs/whole"));
  const auto two =
      train_by_columns({"run.name=two", "train.length=6st", "--ranks", "2", "parallel.strategy=zero3"});
  EXPECT_EQ(two.status, 0) << two.err;
}

TEST_F(SurvivalWithCovariates, AreRefusedBeforeAnythingStarts) {
  const auto refused = [&](std::vector<std::string> more, int status, const char* words) {
    more.insert(more.end(), {"run.name=refused", "train.length=2st"});
    const auto end = train_with(std::move(more));
    EXPECT_EQ(end.status, status) << end.err;
    EXPECT_THAT(end.err, HasSubstr(words));
    EXPECT_FALSE(std::filesystem::exists(folder() / "runs" / "refused"));
  };
  refused({"data.covariates.numbers=[sex]"}, data, "sex: \"f\" is no number");
  refused({"data.covariates.numbers=[time]"}, data, "the column time is the time, and no covariate");
  refused({"data.covariates.numbers=[Age]"}, data, "did you mean age?");
  refused({"data.covariates.numbers=[age]", "data.covariates.categories=[age]"}, usage, "names age twice");
  refused({"data.covariates.categories=[age]"}, data, "and no training case had that");
  refused({"model.covariate_rate=3"}, usage, "there are no covariates");
  const auto cohort =
      call({"train", "survival", "-c", "tiny", "data.covariates.numbers=[age]", "run.name=refused"});
  EXPECT_EQ(cohort.status, usage) << cohort.err;
  EXPECT_THAT(cohort.err, HasSubstr("data.covariates.numbers has no effect"));
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
