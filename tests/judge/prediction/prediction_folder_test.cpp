#include "larmor/judge/prediction/prediction_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/judge/prediction/prediction_cases.h"

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

PredictionForm modalities(bool may_lack = true) {
  return {.inputs = {{.name = "t1n", .is_optional = may_lack},
                     {.name = "t2w", .is_optional = may_lack},
                     {.name = "target", .kind = Kind::text, .is_optional = true}}};
}
PredictionForm one_image() { return {.inputs = {{.name = "condition"}}}; }

std::vector<std::string> names(const PredictionCases& found) {
  std::vector<std::string> all;
  for (const auto& one : found.cases) all.push_back(one.name);
  return all;
}

class PredictionFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    heads_.files({"heads/a/a-t1n.nii", "heads/a/a-t2w.nii", "heads/a/a-seg.nii", "heads/b/b-t1n.nii"});
  }
  std::string path(const std::string& below) const { return (heads_.path() / below).string(); }
  PredictionCases find(const PredictionForm& form, std::vector<std::string> inputs,
                       const DataConfig& trained = {}) const {
    return find_prediction_cases(form, {.inputs = std::move(inputs)}, trained);
  }
  std::string refusal(const PredictionForm& form, std::vector<std::string> inputs) const {
    const auto error = error_of([&] { find(form, std::move(inputs)); });
    return error ? std::to_string(static_cast<int>(error->exit())) + " " + error->message() + " | " +
                       error->hint()
                 : "nothing was refused";
  }

  CaseFolder heads_;
};

TEST_F(PredictionFolder, OfACaseIsThatCaseAndOfFoldersAreThoseCases) {
  const auto one = find(modalities(), {path("heads/a"), "target=t2w"});
  ASSERT_THAT(names(one), ElementsAre("a"));
  EXPECT_FALSE(one.of_folder) << "a single case may be written to a single file";
  EXPECT_EQ(one.cases[0].inputs,
            (std::map<std::string, std::string>{
                {"t1n", path("heads/a/a-t1n.nii")}, {"t2w", path("heads/a/a-t2w.nii")}, {"target", "t2w"}}));
  EXPECT_THAT(account_messages(one.account),
              ElementsAre(AllOf(HasSubstr("passed over: 1 file"), HasSubstr("a-seg.nii"))));
  const auto all = find(modalities(), {path("heads"), "target=t2w"});
  EXPECT_THAT(names(all), ElementsAre("a", "b"));
  EXPECT_TRUE(all.of_folder);
  EXPECT_THAT(names(find(modalities(), {path("heads/b"), path("heads/a")})), ElementsAre("b", "a"));
}

TEST_F(PredictionFolder, ACaseThatLacksWhatIsNeededIsItsOwnFault) {
  const auto found = find(modalities(/*may_lack=*/false), {path("heads")});
  ASSERT_EQ(found.cases.size(), 2U);
  EXPECT_THAT(found.cases[0].fault, IsEmpty());
  EXPECT_EQ(found.cases[1].fault, "has no t2w, and all of t1n, t2w are needed");
  EXPECT_EQ(prediction_cases_from_json(to_json(found)).cases, found.cases) << "ranks hear of it";
}

TEST_F(PredictionFolder, OfOneImageWithSeveralChannelsIsJoinedInTheOrderOfTraining) {
  DataConfig trained;
  trained.modalities = Json::parse(R"({"t2w": "t2w", "t1n": "t1n"})");
  const auto found = find(one_image(), {path("heads")}, trained);
  ASSERT_THAT(names(found), ElementsAre("a", "b"));
  EXPECT_EQ(found.cases[0].inputs.at("condition"), path("heads/a/a-t2w.nii"));
  EXPECT_THAT(found.cases[0].further.at("condition"), ElementsAre(path("heads/a/a-t1n.nii")));
  EXPECT_EQ(found.cases[1].fault, "has no t2w, and all of t2w, t1n are needed");
  EXPECT_EQ(prediction_cases_from_json(to_json(found)).cases, found.cases);
}

TEST_F(PredictionFolder, OfImagesAreThemselvesWhereTrainingSaysNothing) {
  EXPECT_THAT(names(find(one_image(), {path("heads")})),
              ElementsAre("a/a-seg", "a/a-t1n", "a/a-t2w", "b/b-t1n"));
}

TEST_F(PredictionFolder, BesideANamedImageIsASeriesOfTheFirstInput) {
  EXPECT_THAT(refusal(modalities(), {path("heads/a"), "t2w=" + path("heads/a/a-t2w.nii")}),
              AllOf(HasSubstr("2 the input t1n is given 3 times"), HasSubstr("--input FOLDER")));
}

TEST_F(PredictionFolder, IsToldByTheStagesOwnRulesWhereItHasSome) {
  auto form = one_image();
  form.cases_of_folder = [](const DataConfig&, const std::filesystem::path& folder) {
    return folder.filename() == "heads"
               ? std::optional(NamedFolder{.cases = {{"x", {{"image_condition", "a/a-t1n.nii"}}}}})
               : std::nullopt;
  };
  EXPECT_THAT(names(find(form, {path("heads")})), ElementsAre("x"));
  EXPECT_THAT(names(find(form, {path("heads/b")})), ElementsAre("b-t1n"));
}

TEST_F(PredictionFolder, AsksTheStageOfEachCaseBeforeAnythingIsRead) {
  auto form = modalities();
  form.check = [](const std::map<std::string, std::string>& inputs) {
    if (!inputs.contains("t2w")) fail(Exit::usage, "there is no t2w", "give one");
  };
  EXPECT_THAT(refusal(form, {path("heads")}),
              HasSubstr("2 " + path("heads/b") + ": there is no t2w | give one"));
  EXPECT_THAT(names(find(form, {path("heads/a")})), ElementsAre("a"));
}

}  // namespace
}  // namespace larmor
