#include "workloads/xray_vqa/training/question_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor::xray_vqa {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

SplitAnswers answers() {
  SplitAnswers split;
  split.questions = {
      {.example = 3,
       .head = 0,
       .type = find_question_type("has_finding"),
       .answer = 1,
       .given = 0,
       .confidence = 0.75},
      {.example = 4, .head = 3, .type = unknown_question_type(), .answer = 2, .given = 2, .confidence = 0.5}};
  split.labels = {{.example = 3, .label = 0, .truth = 1, .probability = 0.25}};
  return split;
}

TEST(QuestionColumns, SayAnswersAndTruthsByTheirNames) {
  const auto columns = columns_of_questions(answers(), {}, {});
  EXPECT_THAT(column_named(columns, "head")->words, ElementsAre(Pair(3, "binary"), Pair(4, "severity")));
  EXPECT_THAT(column_named(columns, "type")->words, ElementsAre(Pair(3, "has_finding"), Pair(4, "unknown")));
  EXPECT_THAT(column_named(columns, "truth")->words, ElementsAre(Pair(3, "yes"), Pair(4, "moderate")));
  EXPECT_THAT(column_named(columns, "answer")->words, ElementsAre(Pair(3, "no"), Pair(4, "moderate")));
  EXPECT_THAT(column_named(columns, "right")->numbers, ElementsAre(Pair(3, 0), Pair(4, 1)));
  EXPECT_THAT(column_named(columns, "Atelectasis")->numbers, ElementsAre(Pair(3, 0.25)));
  EXPECT_THAT(column_named(columns, "Atelectasis_truth")->numbers, ElementsAre(Pair(3, 1)));
  EXPECT_EQ(column_named(columns, "Edema"), nullptr) << "no study has it";
}

TEST(QuestionColumns, HaveTheProbabilityOfYesAsTheScoreOfABinaryQuestion) {
  const auto scores = scores_of(answers(), answers());
  ASSERT_EQ(scores.size(), 4U);
  EXPECT_EQ(scores[0].name, "binary");
  ASSERT_EQ(scores[0].rows.size(), 1U) << "the other question is one of severity";
  EXPECT_DOUBLE_EQ(scores[0].rows[0].score, 0.25) << "no was given with 0.75";
  EXPECT_TRUE(scores[0].rows[0].truth);
  EXPECT_EQ(scores[1].name, "Atelectasis");
  EXPECT_EQ(scores[2].name, "binary_without_scene");
}

}  // namespace
}  // namespace larmor::xray_vqa
