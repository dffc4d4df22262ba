#include "larmor/judge/prediction/prediction_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/cases.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using testing::CaseFolder;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = PredictionInput::Kind;
using Inputs = std::map<std::string, std::string>;

PredictionForm one_condition() { return {.inputs = {{.name = "condition"}}}; }
PredictionForm questions() {
  return {.inputs = {{.name = "image"},
                     {.name = "question", .kind = Kind::text},
                     {.name = "boxes", .kind = Kind::text, .is_optional = true}}};
}
PredictionForm table_modalities() {
  return {.inputs = {{.name = "t1n", .is_optional = true}, {.name = "t2w", .is_optional = true}}};
}

class PredictionTable : public ::testing::Test {
 protected:
  void SetUp() override { folder_.files({"lists/a.nii", "lists/b.nii", "data/c.nii"}); }
  GivenImages read(const PredictionForm& form, const std::string& table,
                   const std::string& name = "lists/cases.csv") {
    folder_.file(name, table);
    DataConfig trained;
    trained.folder = (folder_.path() / "data").string();
    trained.modalities = modalities_;
    return cases_of_table(form, trained, folder_.path() / name);
  }
  std::string refusal(const PredictionForm& form, const std::string& table) {
    const auto error = error_of([&] { read(form, table); });
    return error ? std::to_string(static_cast<int>(error->exit())) + " " + error->message() + " | " +
                       error->hint()
                 : "nothing was refused";
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  CaseFolder folder_;
  Json modalities_;
};

TEST_F(PredictionTable, TakesImagesAsTrainingsListsCallThem) {
  const auto list = read(one_condition(), "image,label,mask_liver,patient,split\na.nii,b.nii,b.nii,p0,val\n");
  EXPECT_EQ(list.cases.at(0).inputs, (Inputs{{"condition", path("lists/a.nii")}}));
  EXPECT_THAT(list.account.warnings, IsEmpty());
  const auto several = read(table_modalities(), "case,image_t1n,image_t2w\nx,a.nii,\n");
  EXPECT_EQ(several.cases.at(0).inputs, (Inputs{{"t1n", path("lists/a.nii")}}));
  EXPECT_EQ(several.cases[0].name, "x");
}

TEST_F(PredictionTable, LooksForFilesBesideItAndThenWhereTrainingsAre) {
  const auto given = read(one_condition(), "condition\na.nii\nc.nii\n");
  EXPECT_EQ(given.cases.at(0).inputs.at("condition"), path("lists/a.nii"));
  EXPECT_EQ(given.cases.at(1).inputs.at("condition"), path("data/c.nii"));
  EXPECT_THAT(refusal(one_condition(), "condition\nd.nii\n"),
              AllOf(HasSubstr("3 cases.csv:2"), HasSubstr("lists/d.nii")));
}

TEST_F(PredictionTable, PassesOverWhatAStagesTrainingReads) {
  auto form = questions();
  form.columns = [](const CsvTable&, const std::string&) { return Inputs{{"answer", ""}}; };
  const auto given = read(form, "image,question,answer,split,site\na.nii,Where?,left,train,Rome\n");
  EXPECT_EQ(given.cases.at(0).inputs, (Inputs{{"image", path("lists/a.nii")}, {"question", "Where?"}}));
  EXPECT_THAT(given.account.warnings, ElementsAre("cases.csv: nothing reads the columns site"));
}

TEST_F(PredictionTable, RefusesColumnsThatNobodyKnows) {
  EXPECT_THAT(refusal(questions(), "image,question,colour\na.nii,Where?,red\n"),
              AllOf(HasSubstr("2 "), HasSubstr("there is no input colour"),
                    HasSubstr("image, question, boxes"), HasSubstr("label, patient, split are passed over")));
  EXPECT_THAT(refusal(questions(), "image,question,boxs,patient\na.nii,Where?,x,p0\n"),
              HasSubstr("did you mean boxes?"))
      << "what is misspelt is no column of others, though the table is training's";
  EXPECT_THAT(
      refusal(table_modalities(), "t1n,image_t1n\na.nii,b.nii\n"),
      HasSubstr("2 " + path("lists/cases.csv") + ": the columns t1n and image_t1n are both the input t1n"));
}

TEST_F(PredictionTable, HasTheChannelsOfOneImageInTheOrderOfTraining) {
  modalities_ = Json::parse(R"({"t2w": "t2w", "t1n": "t1n"})");
  const auto given = read(one_condition(), "image_t1n,image_t2w\na.nii,b.nii\na.nii,\n");
  EXPECT_EQ(given.cases.at(0).inputs, (Inputs{{"condition", path("lists/b.nii")}}));
  EXPECT_THAT(given.cases[0].further.at("condition"), ElementsAre(path("lists/a.nii")));
  EXPECT_EQ(given.cases.at(1).fault, "has no t2w, and all of t2w, t1n are needed");
  modalities_ = nullptr;
  EXPECT_THAT(refusal(one_condition(), "image_t1n,image_t2w\na.nii,b.nii\n"),
              AllOf(HasSubstr("are both the input condition"), HasSubstr("data.modalities={")))
      << "nobody knows which of them is first";
}

TEST_F(PredictionTable, GivesAnEmptyTextWhereThatSaysSomething) {
  PredictionForm form{.inputs = {{.name = "image"}, {.name = "age", .kind = Kind::text}}};
  EXPECT_THAT(refusal(form, "image,age\na.nii,\n"), HasSubstr("the input age is missing"));
  form.inputs.back().may_be_empty = true;
  EXPECT_EQ(read(form, "image,age\na.nii,\n").cases.at(0).inputs.at("age"), "");
  EXPECT_THAT(refusal(form, "image\na.nii\n"), HasSubstr("the input age is missing"))
      << "nobody said anything";
}

TEST_F(PredictionTable, MayBeAListAsMonaiHasIt) {
  const auto given =
      read(one_condition(), R"({"training": [{"image": "a.nii", "label": "b.nii"}], "test": ["b.nii"]})",
           "lists/dataset.json");
  ASSERT_EQ(given.cases.size(), 2U);
  EXPECT_EQ(given.cases[0].inputs, (Inputs{{"condition", path("lists/a.nii")}}));
  EXPECT_EQ(given.cases[1].name, "case-0001");
}

}  // namespace
}  // namespace larmor
