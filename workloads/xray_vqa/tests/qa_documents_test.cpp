#include "workloads/xray_vqa/data/qa_documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "workloads/xray_vqa/tests/made_up_mimic.h"

namespace larmor::xray_vqa {
namespace {

struct Taken {
  std::string type, question, quality, words, positiveness, region, entity, severity;
};

std::string padded_copy(const std::string& document) {
  return document + std::string(QaReader::padding(), ' ');
}

std::vector<Taken> questions_of(const std::string& document) {
  std::vector<Taken> taken;
  const std::string padded = padded_copy(document);
  QaReader().read_questions(
      std::string_view(padded).substr(0, document.size()), [&](const QaQuestion& question) {
        const auto word = [](std::string_view view) { return std::string(view); };
        taken.push_back({word(question.type), word(question.question), question.quality,
                         word(question.answer.words), word(question.answer.positiveness),
                         word(question.answer.region), word(question.answer.entity),
                         word(question.answer.severity)});
      });
  return taken;
}

bool is_refused(const std::string& document) {
  try {
    questions_of(document);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    return true;
  }
  return false;
}

TEST(QaDocuments, TheMainAnswerIsTakenWhereverItStands) {
  const auto taken = questions_of(MadeUpMimic::qa_document(1).dump());
  ASSERT_EQ(taken.size(), 9u);
  EXPECT_EQ(taken[0].type, "D02_has_finding");
  EXPECT_EQ(taken[0].words, "made up");
  EXPECT_EQ(taken[0].positiveness, "pos");
  EXPECT_EQ(taken[2].region, "left lung");
  EXPECT_EQ(taken[3].severity, "moderate");
}

TEST(QaDocuments, WithoutAMainAnswerTheFirstOneCounts) {
  const auto taken =
      questions_of(R"({"questions": [{"question": "a", "answers": [{"text": "one"}, {"text": "two"}]},
                                     {"question": "b", "answers": []}, {"question": "c"}]})");
  ASSERT_EQ(taken.size(), 3u);
  EXPECT_EQ(taken[0].words, "one");
  EXPECT_EQ(taken[1].words, "");
}

TEST(QaDocuments, QualitiesMayBeLettersCodesOrHeldInAnObject) {
  const auto taken = questions_of(R"({"questions": [{"question_quality": "A+"}, {"question_quality": 3},
      {"question_quality": {"overall": 4, "other": 5}}, {"question_quality": null}, {}]})");
  ASSERT_EQ(taken.size(), 5u);
  EXPECT_EQ(taken[0].quality, "A+");
  EXPECT_EQ(taken[1].quality, "3");
  EXPECT_EQ(taken[2].quality, "4");
  EXPECT_EQ(taken[3].quality, "");
}

TEST(QaDocuments, ValuesOfOtherKindsAreTakenForNothing) {
  const auto taken =
      questions_of(R"({"questions": [{"question": 5, "question_type": ["x"], "answers": {"a": 1}},
      {"question": "b", "answers": [7, null, {"regions": "lung", "obs_entities": [{"name": 1}], "modifiers": [["severity"], 3]}]}]})");
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].question, "");
  EXPECT_EQ(taken[1].region, "lung");
  EXPECT_EQ(taken[1].severity, "");
}

TEST(QaDocuments, CutDocumentsAreRefusedWhereverTheyWereCut) {
  const std::string whole = MadeUpMimic::qa_document(1).dump();
  for (std::size_t size = 0; size < whole.size(); size += 37)
    EXPECT_TRUE(is_refused(whole.substr(0, size))) << size;
  EXPECT_FALSE(is_refused(whole));
}

TEST(QaDocuments, WhatIsNoDocumentOfQuestionsIsRefused) {
  for (const char* const document : {"", "[]", "{}", "{\"questions\": 5}", "{\"questions\": [5]}", "null",
                                     "\"a\"", "{\"questions\": []} {}", "{\"questions\": [}"}) {
    EXPECT_TRUE(is_refused(document)) << document;
  }
}

TEST(QaDocuments, DeepNestingTakesNoStack) {
  constexpr std::size_t deep = 1'000'000;
  const std::string nest = std::string(deep, '[') + std::string(deep, ']');
  EXPECT_EQ(questions_of("{\"a\": " + nest + ", \"questions\": [{}]}").size(), 1u);
  const auto taken =
      questions_of("{\"questions\": [{\"question_quality\": " + nest + ", \"question\": \"b\"}]}");
  EXPECT_EQ(taken.at(0).question, "b");
}

TEST(QaDocuments, ASceneWithoutTheWantedImageHasTheFirstBoxThatThereIs) {
  const std::string padded = padded_copy(MadeUpMimic::scene_graph(1).dump());
  const auto document = std::string_view(padded).substr(0, padded.size() - QaReader::padding());
  const Vocabularies lists{NameList({"right lung", "left lung"}), NameList({"nodule"})};
  const auto scene = QaReader().read_scene(document, {"lateral image of another study", 40, 20}, lists);
  ASSERT_EQ(scene.objects.size(), 2u);
  EXPECT_EQ(scene.objects[0].box, (Box{0, 0, 0.1F, 0.2F}));
  EXPECT_EQ(scene.objects[0].entity, 0);
}

}  // namespace
}  // namespace larmor::xray_vqa
