#include "workloads/survival/risk/covariates.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/cases.h"

namespace larmor::survival {
namespace {

using larmor::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

const CovariateColumns age_and_sex{.numbers = {"age"}, .categories = {"sex"}};

struct Patient {
  const char *age, *sex;
  Split split = Split::train;
};

/// As read_survival_table() has them.
Index index_of(const std::vector<Patient>& patients) {
  std::vector<ListedCase> listed;
  for (const Patient& one : patients) {
    ListedCase entry;
    entry.values = {{"time", 3},
                    *covariate_value(age_and_sex, "age", one.age),
                    *covariate_value(age_and_sex, "sex", one.sex)};
    listed.push_back(entry);
  }
  complete_covariates(listed);
  Index index;
  for (std::size_t i = 0; i < patients.size(); ++i) {
    Case entry;
    entry.files["image"] = std::to_string(i) + ".nii";
    entry.split = patients[i].split;
    entry.values = listed[i].values;
    index.cases.push_back(entry);
  }
  return index;
}

/// Of the cases, as a loader makes it.
Batch batch_of(const Index& index) {
  Batch batch;
  for (const auto& [name, value] : index.cases.front().values) {
    std::vector<double> column;
    for (const Case& entry : index.cases) column.push_back(entry.values.at(name));
    batch.tensors[name] = at::tensor(column, at::kDouble);
  }
  batch.tensors["image"] = at::zeros({static_cast<int64_t>(index.cases.size()), 1, 1, 1, 1});
  return batch;
}

at::Tensor rows_of(const Covariates& covariates, const Batch& batch) {
  return covariates.rows(batch, batch.at("image"));
}

TEST(Covariates, AreNumbersByTheTrainingCasesMeanAndDeviationAndACategoryEach) {
  const Index index = index_of({{"50", "f"}, {"60", "m"}, {"70", "f"}, {"90", "m", Split::val}});
  const Covariates covariates(age_and_sex, index);
  const double deviation = std::sqrt(200.0 / 3);
  const auto expected = at::tensor({-10 / deviation, 1.0, 0.0, 0.0, 0.0, 1.0, 10 / deviation, 1.0, 0.0,
                                    30 / deviation, 0.0, 1.0},
                                   at::kDouble)
                            .view({4, 3})
                            .to(at::kFloat);
  EXPECT_EQ(covariates.inputs(), 3);
  EXPECT_TRUE(rows_of(covariates, batch_of(index)).equal(expected)) << "90 of val moved no mean";
  EXPECT_EQ(covariates.sentence(), "covariates: age (mean 60.00, deviation 8.16), sex (f, m)");
}

TEST(Covariates, KnowAnEmptyCellAsACategoryAndLeaveItsNumberAtTheMean) {
  const Index index = index_of({{"50", "f"}, {"", "m"}, {"70", ""}, {"60", "m"}});
  const Covariates covariates(age_and_sex, index);
  const auto rows = rows_of(covariates, batch_of(index));
  ASSERT_EQ(rows.size(1), 5) << "age, without age, without sex, f, m";
  EXPECT_TRUE(rows[1].equal(at::tensor({0.0F, 1.0F, 0.0F, 0.0F, 1.0F})));
  EXPECT_TRUE(rows[2].slice(0, 1).equal(at::tensor({0.0F, 1.0F, 0.0F, 0.0F})));
  EXPECT_THAT(covariates.sentence(), HasSubstr("age (mean 60.00, deviation 8.16, not given in 1)"));
}

TEST(Covariates, AreTheSameOfTextsAsOfATable) {
  const Index index = index_of({{"50.25", "f"}, {"", "m"}, {"70", "f"}});
  const Covariates covariates(age_and_sex, index);
  const auto rows = rows_of(covariates, batch_of(index));
  for (std::size_t i = 0; i < index.cases.size(); ++i) {
    std::map<std::string, std::string, std::less<>> cells;
    for (const std::string& column : age_and_sex.all())
      cells[column] = covariate_cell(age_and_sex, column, index.cases[i]);
    Batch batch = covariates.batch_of(cells);
    batch.tensors["image"] = at::zeros({1, 1, 1, 1, 1});
    EXPECT_TRUE(rows_of(covariates, batch)[0].equal(rows[static_cast<int64_t>(i)])) << i;
  }
}

TEST(Covariates, RefuseWhatNoTrainingCaseHas) {
  const auto said = [](const std::vector<Patient>& patients) {
    const auto error = error_of([&] { check_covariates(age_and_sex, index_of(patients)); });
    return error ? error->message() : std::string("nothing");
  };
  EXPECT_EQ(said({{"50", "f"}, {"60", "m"}, {"55", "m", Split::test}}), "nothing");
  EXPECT_THAT(said({{"50", "f"}, {"60", "f"}, {"55", "m", Split::val}}),
              AllOf(HasSubstr("2.nii: "), HasSubstr("sex is \"m\", and no training case had that")));
  EXPECT_THAT(said({{"50", "f"}, {"60", "f"}, {"", "f", Split::val}}),
              HasSubstr("the covariate age is not given, and every training case had one"));
  EXPECT_THAT(said({{"50", "f"}, {"50", "m"}, {"60", "m", Split::val}}),
              HasSubstr("age has no two different numbers in train"));

  const Covariates covariates(age_and_sex, index_of({{"50", "f"}, {"60", "m"}}));
  for (const auto& [age, sex] : {std::pair{"55", "x"}, {"", "m"}, {"55", ""}}) {
    EXPECT_TRUE(error_of([&] { covariates.batch_of({{"age", age}, {"sex", sex}}); })) << age << sex;
    EXPECT_TRUE(error_of([&] { covariates.refuse_unseen(batch_of(index_of({{age, sex}}))); })) << age << sex;
  }
  EXPECT_FALSE(error_of([&] { covariates.refuse_unseen(batch_of(index_of({{"80", "f"}}))); }));
}

TEST(Covariates, AreOneInputAColumnWhereANetworkIsCounted) {
  const Covariates covariates(age_and_sex, {});
  EXPECT_EQ(covariates.inputs(), 2);
  EXPECT_FALSE(covariates.is_known());
  Batch batch;
  batch.tensors["image"] = at::empty({3, 1, 2, 2, 2}, at::kMeta);
  EXPECT_EQ(rows_of(covariates, batch).sizes(), (std::vector<int64_t>{3, 2}));
}

TEST(Covariates, AreColumnsThatAreNamedOnce) {
  const auto refused = [](const CovariateColumns& columns) {
    return error_of([&] { columns.check(); }).has_value();
  };
  EXPECT_FALSE(refused(age_and_sex));
  EXPECT_TRUE(refused({.numbers = {"age"}, .categories = {"age"}}));
  EXPECT_TRUE(refused({.numbers = {""}, .categories = {}}));
  EXPECT_TRUE(refused({.numbers = {}, .categories = {"a=b"}}));
  EXPECT_TRUE(refused({.numbers = {"image"}, .categories = {}}));
  EXPECT_TRUE(
      error_of([&] { check_covariates(age_and_sex, std::map<std::string, std::string>{{"age", "63,5"}}); }));
  EXPECT_FALSE(
      error_of([&] { check_covariates(age_and_sex, std::map<std::string, std::string>{{"age", ""}}); }));
}

}  // namespace
}  // namespace larmor::survival
