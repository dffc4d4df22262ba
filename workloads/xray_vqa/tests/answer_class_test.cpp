#include "workloads/xray_vqa/data/answer_class.h"

#include <gtest/gtest.h>

#include "workloads/xray_vqa/data/chexpert.h"

namespace larmor::xray_vqa {
namespace {

Vocabularies made_up_lists() {
  std::vector<std::string> regions, entities;
  for (int i = 0; i < 40; ++i) regions.push_back("region " + std::to_string(i));
  for (int i = 0; i < 40; ++i) entities.push_back("entity " + std::to_string(i));
  return {NameList(regions), NameList(entities)};
}

int64_t class_of(std::string_view type, const AnswerFacts& answer) {
  return answer_class(question_types()[static_cast<std::size_t>(find_question_type(type))], answer,
                      made_up_lists());
}

TEST(AnswerClass, IsYesWhereTheAnswerIsPositive) {
  EXPECT_EQ(class_of("D02_has_finding", {.positiveness = "pos"}), 1);
  EXPECT_EQ(class_of("D02_has_finding", {.positiveness = "neg"}), 0);
  EXPECT_EQ(class_of("D02_has_finding", {.positiveness = "neutral"}), 0);
}

TEST(AnswerClass, TurnsAroundWhereTheQuestionAsksForWhatIsNormal) {
  EXPECT_EQ(class_of("C04_is_normal_region", {.positiveness = "pos"}), 0);
  EXPECT_EQ(class_of("C04_is_normal_region", {.positiveness = "neg"}), 1);
  EXPECT_EQ(class_of("C03_is_abnormal_region", {.positiveness = "pos"}), 1);
}

TEST(AnswerClass, GoesByTheWordsWhereNothingElseTells) {
  EXPECT_EQ(class_of("D02_has_finding", {.words = "Yes, there is."}), 1);
  EXPECT_EQ(class_of("D02_has_finding", {.words = "There is no effusion, yes"}), 0);
  EXPECT_EQ(class_of("C04_is_normal_region", {.words = "Yes."}), 1);
  EXPECT_EQ(class_of("D02_has_finding", {.words = "Nodule"}), -1);
  EXPECT_EQ(class_of("D02_has_finding", {}), -1);
}

TEST(AnswerClass, OfSeverityComesFromTheModifierFirst) {
  EXPECT_EQ(class_of("D04_how_severe_is_finding", {.words = "mild", .severity = "Severe"}), 3);
  EXPECT_EQ(class_of("D04_how_severe_is_finding", {.words = "It is of moderate size."}), 2);
  EXPECT_EQ(class_of("D04_how_severe_is_finding", {.severity = "small"}), 1);
  EXPECT_EQ(class_of("D04_how_severe_is_finding", {.words = "There is none."}), 0);
}

TEST(AnswerClass, OfASeverityThatNoWordTellsIsNotKnown) {
  EXPECT_EQ(class_of("D04_how_severe_is_finding", {.words = "It cannot be told."}), -1);
  EXPECT_EQ(class_of("D04_how_severe_is_finding", {.severity = "borderline"}), -1);
  EXPECT_EQ(class_of("D04_how_severe_is_finding", {}), -1);
}

TEST(AnswerClass, OfARegionIsItsPlaceAndTwentyFiveAtMost) {
  EXPECT_EQ(class_of("D03_where_is_finding", {.region = "Region 3"}), 3);
  EXPECT_EQ(class_of("D03_where_is_finding", {.region = "region 39"}), 25);
  EXPECT_EQ(class_of("D03_where_is_finding", {.region = "elsewhere"}), -1);
}

TEST(AnswerClass, OfACategoryIsALabelByNameByPartOrByAlias) {
  const char* const type = "D01_describe_finding";
  for (std::size_t i = 0; i < chexpert_names.size(); ++i)
    EXPECT_EQ(class_of(type, {.entity = chexpert_names[i]}), static_cast<int64_t>(i));
  EXPECT_EQ(class_of(type, {.entity = "left pleural effusion"}), 8);
  EXPECT_EQ(class_of(type, {.entity = "pericardial effusion"}), 8);
  EXPECT_EQ(class_of(type, {.entity = "masses"}), 6);
  EXPECT_EQ(class_of(type, {.entity = "PICC line"}), 12);
  EXPECT_EQ(class_of(type, {.entity = "entity 5"}), -1) << "not the sixth label, whatever its place";
  EXPECT_EQ(class_of(type, {.entity = "entity 30"}), -1) << "not No Finding";
  EXPECT_EQ(class_of(type, {.entity = "midline shift"}), -1);
  EXPECT_EQ(class_of(type, {}), -1);
}

TEST(AnswerClass, NothingIsKnownOfQuestionsWithoutAHead) {
  EXPECT_EQ(class_of("B01_describe_all", {.words = "yes", .positiveness = "pos"}), -1);
}

TEST(AnswerClass, EveryClassHasAName) {
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t i = 0; i < head_classes[static_cast<std::size_t>(head)]; ++i)
      EXPECT_FALSE(answer_name(static_cast<Head>(head), i, made_up_lists()).empty());
  }
  EXPECT_EQ(answer_name(Head::region, 25, made_up_lists()), "another region");
}

}  // namespace
}  // namespace larmor::xray_vqa
