#include "larmor/judge/prediction/prediction_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = PredictionInput::Kind;

PredictionForm one_image() { return {.inputs = {{.name = "image"}}, .volumes = {"result"}}; }
PredictionForm two_views() {
  return {.inputs = {{.name = "pa"}, {.name = "lateral", .is_optional = true}}, .volumes = {"ct"}};
}
PredictionForm questions() {
  return {.inputs = {{.name = "image"}, {.name = "question", .kind = Kind::text}}};
}
PredictionForm sampler() { return {.inputs = {{.name = "low", .is_optional = true}}, .volumes = {"sample"}}; }

/// A folder whose files are as good as images for who reads nothing but names.
class PredictionCasesOf : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const auto* name : {"a.nii", "b.new.nii.gz", "c.PNG", "d.hdr", "d.img", "notes.txt", ".hidden.nii"})
      put(name, "as good as an image");
  }
  void put(const std::string& name, const std::string& bytes) {
    fs::create_directories((folder() / name).parent_path());
    write_text(storage_, folder() / name, bytes);
  }
  fs::path folder() const { return scratch_.path() / "in"; }
  std::string file(const std::string& name) const { return (folder() / name).string(); }

  static std::vector<std::string> names(const PredictionCases& found) {
    std::vector<std::string> all;
    for (const auto& one : found.cases) all.push_back(one.name);
    return all;
  }
  /// What is said of a request, with its exit status before it.
  static std::string refusal(const PredictionForm& form, const PredictionRequest& request) {
    try {
      find_prediction_cases(form, request);
    } catch (const Error& error) {
      return std::to_string(static_cast<int>(error.exit())) + " " + error.message() + " | " + error.hint();
    }
    return "nothing was refused";
  }

 private:
  ScratchFolder scratch_;
  DiskStorage storage_;
};

TEST_F(PredictionCasesOf, OneImageInputAreFilesAndWhatTheFoldersHold) {
  const auto found = find_prediction_cases(one_image(), {.inputs = {folder().string()}});
  EXPECT_THAT(names(found), ElementsAre("a", "b.new", "c", "d"));
  EXPECT_TRUE(found.of_folder);
  EXPECT_EQ(found.cases[1].inputs.at("image"), file("b.new.nii.gz"));
  const auto named =
      find_prediction_cases(one_image(), {.inputs = {"image=" + file("a.nii"), file("c.PNG")}});
  EXPECT_THAT(names(named), ElementsAre("a", "c"));
  EXPECT_FALSE(named.of_folder);
  EXPECT_EQ(named.cases[0].label, file("a.nii"));
}

TEST_F(PredictionCasesOf, AFolderOfPatientsAreCalledByTheirPathsBelowIt) {
  for (const auto* name : {"heads/p0/t1.nii", "heads/p1/t1.nii", "heads/p1/visit/t2.nii"})
    put(name, "as good as an image");
  const auto found = find_prediction_cases(one_image(), {.inputs = {file("heads")}});
  EXPECT_THAT(names(found), ElementsAre("p0/t1", "p1/t1"));
  EXPECT_TRUE(found.of_folder);
  EXPECT_THAT(names(find_prediction_cases(one_image(), {.inputs = {file("heads/p1")}})), ElementsAre("t1"));
  put("empty/cases.csv", "image");
  EXPECT_THAT(refusal(one_image(), {.inputs = {file("empty")}}), HasSubstr("there lie 1 file (.csv 1)"));
  EXPECT_THAT(refusal(one_image(), {.inputs = {file("empty/cases.csv")}}), HasSubstr("--table FILE"));
}

TEST_F(PredictionCasesOf, OnlyTheNameOfADeclaredInputSplitsAtTheSign) {
  put("x=1.nii", "as good as an image");
  EXPECT_THAT(names(find_prediction_cases(one_image(), {.inputs = {file("x=1.nii")}})), ElementsAre("x=1"));
  const auto asked =
      find_prediction_cases(questions(), {.inputs = {file("a.nii"), "question=is a = b?"}}).cases;
  EXPECT_EQ(asked.front().inputs.at("question"), "is a = b?");
}

TEST_F(PredictionCasesOf, SeveralImagesAreOneCase) {
  const auto found =
      find_prediction_cases(two_views(), {.inputs = {"lateral=" + file("c.PNG"), "pa=" + file("a.nii")}});
  ASSERT_EQ(found.cases.size(), 1U);
  EXPECT_EQ(found.cases[0].name, "a");
  EXPECT_EQ(found.cases[0].inputs.at("lateral"), file("c.PNG"));
}

TEST_F(PredictionCasesOf, EachTextIsACaseOfEachImage) {
  const auto found = find_prediction_cases(
      questions(), {.inputs = {file("a.nii"), file("c.PNG"), "question=where?", "question=what?"}});
  EXPECT_THAT(names(found), ElementsAre("a-0", "a-1", "c-0", "c-1"));
  EXPECT_EQ(found.cases[3].inputs.at("question"), "what?");
  EXPECT_EQ(prediction_cases_from_json(to_json(found)).cases, found.cases) << "ranks hear of them as JSON";
}

TEST_F(PredictionCasesOf, AFileOfTextIsFoundBesideItsTable) {
  put("scene.json", "{}");
  put("cases.csv", "image,objects\na.nii,scene.json\na.nii,\n");
  put("lost.csv", "image,objects\na.nii,lost.json\n");
  const PredictionForm form = {
      .inputs = {{.name = "image"}, {.name = "objects", .kind = Kind::file, .is_optional = true}}};
  const auto found = find_prediction_cases(form, {.table = folder() / "cases.csv"}).cases;
  EXPECT_EQ(found.at(0).inputs.at("objects"), file("scene.json"));
  EXPECT_FALSE(found.at(1).inputs.contains("objects"));
  EXPECT_THAT(refusal(form, {.table = folder() / "lost.csv"}), HasSubstr("lost.json"));
  EXPECT_THAT(refusal(form, {.inputs = {file("a.nii"), "objects=nowhere.json"}}),
              HasSubstr("there is no file nowhere.json"));
}

TEST_F(PredictionCasesOf, NothingAreSamples) {
  EXPECT_THAT(names(find_prediction_cases(sampler(), {.count = 2})),
              ElementsAre("sample-0000", "sample-0001"));
  EXPECT_EQ(find_prediction_cases(sampler(), {}).cases.size(), 1U);
  EXPECT_THAT(refusal(sampler(), {.inputs = {"low=" + file("a.nii")}, .count = 2}), HasSubstr("2 --count"));
  EXPECT_THAT(refusal(one_image(), {.count = 2}), HasSubstr("2 --count"));
  EXPECT_THAT(refusal(sampler(), {.count = 0}), HasSubstr("--count is 0"));
  EXPECT_THAT(refusal({}, {.inputs = {file("a.nii")}}),
              AllOf(HasSubstr("takes no input"), HasSubstr("--count")));
}

TEST_F(PredictionCasesOf, AStageThatDrawsAreSoManySamplesOfEachCase) {
  auto form = two_views();
  form.draws = true;
  put("both.csv", "case,pa\nfirst,a.nii\nsecond,c.PNG\n");
  const auto found = find_prediction_cases(form, {.table = file("both.csv"), .count = 2});
  EXPECT_THAT(names(found), ElementsAre("first-0000", "first-0001", "second-0000", "second-0001"));
  EXPECT_EQ(found.cases[3].number, 1) << "of the case, so that sample 0 is what one prediction would be";
  EXPECT_EQ(found.cases[3].sample, 1);
  EXPECT_EQ(found.cases[3].inputs.at("pa"), file("c.PNG"));
  EXPECT_THAT(found.cases[3].label, HasSubstr("sample 1"));
  EXPECT_EQ(prediction_cases_from_json(to_json(found)).cases, found.cases) << "ranks hear of them as JSON";
  const auto whole = sampled_cases(found.cases);
  ASSERT_EQ(whole.size(), 2U);
  EXPECT_EQ(whole[1].name, "second");
  EXPECT_EQ(whole[1].inputs.at("pa"), file("c.PNG"));

  const PredictionRequest one{.inputs = {"pa=" + file("a.nii")}, .count = 1};
  EXPECT_THAT(names(find_prediction_cases(form, one)), ElementsAre("a")) << "as without --count";
  EXPECT_TRUE(sampled_cases(find_prediction_cases(form, one).cases).empty());
  EXPECT_THAT(refusal(form, {.inputs = one.inputs, .count = 0}), HasSubstr("--count is 0"));
  EXPECT_THAT(refusal(form, {.count = 2}), HasSubstr("2 the input pa is missing"));
}

TEST_F(PredictionCasesOf, ATableAreItsRows) {
  put("cases.csv", "case,pa,lateral\nfirst,a.nii,\n,c.PNG,a.nii\n");
  const auto found = find_prediction_cases(two_views(), {.table = file("cases.csv")});
  EXPECT_THAT(names(found), ElementsAre("first", "case-0001"));
  EXPECT_FALSE(found.cases[0].inputs.contains("lateral"));
  EXPECT_EQ(found.cases[1].inputs.at("lateral"), file("a.nii"));
  EXPECT_THAT(refusal(two_views(), {.inputs = {file("a.nii")}, .table = file("cases.csv")}),
              HasSubstr("twice"));
  put("odd.csv", "case,laterel,pa\nx,a.nii,a.nii\n");
  EXPECT_THAT(refusal(two_views(), {.table = file("odd.csv")}), HasSubstr("did you mean lateral?"));
  put("gap.csv", "case,pa,lateral\nx,,a.nii\n");
  EXPECT_THAT(refusal(two_views(), {.table = file("gap.csv")}),
              AllOf(HasSubstr("gap.csv:2"), HasSubstr("pa is missing")));
  put("gone.csv", "pa\ngone.nii\n");
  EXPECT_THAT(refusal(two_views(), {.table = file("gone.csv")}),
              AllOf(HasSubstr("gone.csv:2"), HasSubstr("gone.nii")));
}

TEST_F(PredictionCasesOf, WhatCannotBeMeantIsRefusedWithOneSentence) {
  EXPECT_THAT(refusal(two_views(), {.inputs = {"lateral_view=x.nii"}}),
              AllOf(HasSubstr("2 there is no input lateral_view"), HasSubstr("pa, lateral")));
  EXPECT_THAT(refusal(two_views(), {.inputs = {"laterel=x.nii"}}), HasSubstr("did you mean lateral?"));
  EXPECT_THAT(refusal(two_views(), {.inputs = {"pa=" + file("a.nii"), "pa=" + file("c.PNG")}}),
              AllOf(HasSubstr("2 the input pa is given 2 times"), HasSubstr("--table")));
  EXPECT_THAT(refusal(two_views(), {.inputs = {"lateral=" + file("a.nii")}}),
              AllOf(HasSubstr("2 the input pa is missing"), HasSubstr("--input pa=FILE")));
  EXPECT_THAT(refusal(one_image(), {}), HasSubstr("2 the input image is missing"));
  EXPECT_THAT(refusal(questions(), {.inputs = {"Is there an effusion?", "question=x"}}),
              AllOf(HasSubstr("3 image is an image"), HasSubstr("image, question")));
  EXPECT_THAT(refusal(one_image(), {.inputs = {file("notes.txt")}}), HasSubstr("is text, not an image"));
  EXPECT_THAT(refusal(one_image(), {.inputs = {file("gone.nii")}}),
              HasSubstr("3 there is no file or folder"));
  put("empty/notes.txt", "nothing to see");
  EXPECT_THAT(refusal(one_image(), {.inputs = {file("empty")}}), HasSubstr("3 no image was found in"));
}

}  // namespace
}  // namespace larmor::testing
