#include "workloads/xray_vqa/data/phantom_questions.h"

#include <algorithm>
#include <map>
#include <set>

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "workloads/xray_vqa/data/xray_phantom.h"

namespace larmor::xray_vqa {
namespace {

constexpr uint64_t question_seed = 11;

PhantomQuestions some_phantoms() {
  return {.seed = question_seed,
          .studies = 40,
          .questions = 5,
          .sizes = {.image = 32, .question = 16, .objects = 6}};
}

Index some_index() {
  DataConfig data;
  data.kind = "xray_phantom";
  return phantom_index(data, 1, some_phantoms());
}

TEST(PhantomQuestions, NobodyAnswersThemWithoutLooking) {
  // The best that a model without the image can do: the most frequent answer to the very same words.
  std::map<std::string, std::map<int64_t, int64_t>> answers;
  constexpr int64_t studies = 1500, questions = 6;
  for (int64_t study = 0; study < studies; ++study) {
    for (int64_t which = 0; which < questions; ++which) {
      const auto facts = phantom_question(question_seed, study, which);
      ++answers[facts.question][facts.answer];
    }
  }
  int64_t right = 0;
  for (const auto& [question, counts] : answers) {
    int64_t most = 0;
    for (const auto& [answer, count] : counts) most = std::max(most, count);
    right += most;
  }
  EXPECT_LT(static_cast<double>(right) / (studies * questions), 0.6);
}

TEST(PhantomQuestions, EveryHeadIsAskedAndEveryAnswerFitsItsHead) {
  std::array<int64_t, heads> asked{};
  std::set<int64_t> types;
  for (int64_t study = 0; study < 300; ++study) {
    const auto facts = phantom_question(question_seed, study, 0);
    const Head head = question_types()[static_cast<std::size_t>(facts.type)].head;
    ASSERT_NE(head, Head::none) << facts.question;
    ++asked.at(static_cast<std::size_t>(head));
    types.insert(facts.type);
    EXPECT_GE(facts.answer, 0) << facts.question;
    EXPECT_LT(facts.answer, head_classes.at(static_cast<std::size_t>(head))) << facts.question;
  }
  for (const int64_t count : asked) EXPECT_GT(count, 15);
  EXPECT_EQ(types.size(), 8u);
}

TEST(PhantomQuestions, AnswersAreTheTruth) {
  for (int64_t study = 0; study < 300; ++study) {
    const auto truth = phantom_truth(question_seed, study);
    const auto facts = phantom_question(question_seed, study, 1);
    const std::string_view type = question_types()[static_cast<std::size_t>(facts.type)].name;
    if (type == "D02_has_finding" && facts.question.find("pneumothorax") != std::string::npos) {
      EXPECT_EQ(facts.answer, truth.count(10) > 0 ? 1 : 0);
    }
    if (type == "D07_where_is_device") {
      EXPECT_NE(truth.find(12, static_cast<PhantomRegion>(facts.answer)), nullptr);
    }
    if (type == "D01_describe_finding" && facts.answer != 13) {
      EXPECT_GT(truth.count(facts.answer), 0);
    }
  }
}

TEST(PhantomQuestions, TheirWordsAreInTheVocabulary) {
  const WordPiece tokenizer(phantom_words());
  for (int64_t study = 0; study < 200; ++study) {
    const std::string question = phantom_question(question_seed, study, 2).question;
    const auto tokens = tokenizer.encode(question);
    EXPECT_LE(tokens.size(), 14u) << question;
    for (const Token& token : tokens) EXPECT_NE(token.id, tokenizer.vocabulary().unknown) << question;
  }
  for (const Token& token : tokenizer.encode("Something else, 12 times?"))
    EXPECT_NE(token.id, tokenizer.vocabulary().unknown);
}

TEST(PhantomQuestions, SamplesHaveTheShapesThatTheStagesExpect) {
  const Index index = some_index();
  const WordPiece tokenizer(phantom_words());
  const auto dataset = phantom_dataset(some_phantoms(), index, Split::train, tokenizer);
  EXPECT_EQ(dataset->size(), static_cast<int64_t>(index.of(Split::train).size()) * 5);
  const Sample one = dataset->get({.seed = 1, .epoch = 0, .example = 7});
  EXPECT_EQ(one.at(sample::image).sizes(), (std::vector<int64_t>{3, 32, 32}));
  EXPECT_EQ(one.at(sample::tokens).sizes(), (std::vector<int64_t>{16}));
  EXPECT_EQ(one.at(sample::tokens).scalar_type(), at::kLong);
  EXPECT_EQ(one.at(sample::tokens_mask).scalar_type(), at::kBool);
  EXPECT_EQ(one.at(sample::boxes).sizes(), (std::vector<int64_t>{6, 4}));
  EXPECT_EQ(one.at(sample::objects_mask).sum().item<int64_t>(), 4);
  EXPECT_EQ(one.at(sample::labels).sizes(), (std::vector<int64_t>{14}));
  EXPECT_EQ(one.at(sample::labels_mask).sum().item<int64_t>(), 6);
  EXPECT_EQ(one.at(sample::study).item<int64_t>(), 1);
  EXPECT_EQ(one.at(sample::head).item<int64_t>(),
            static_cast<int64_t>(
                question_types()[static_cast<std::size_t>(one.at(sample::type).item<int64_t>())].head));
  EXPECT_EQ(one.size(), 13u);
}

TEST(PhantomQuestions, AnExampleIsTheSameInEveryEpochAndThread) {
  const WordPiece tokenizer(phantom_words());
  const auto dataset = phantom_dataset(some_phantoms(), some_index(), Split::val, tokenizer);
  const Sample a = dataset->get({.seed = 1, .epoch = 0, .example = 3});
  const Sample b = dataset->get({.seed = 2, .epoch = 5, .example = 3});
  for (const auto& [name, tensor] : a) EXPECT_TRUE(at::equal(tensor, b.at(name))) << name;
}

TEST(PhantomQuestions, TheImageIsNormalisedAsImageNetIs) {
  const at::Tensor grey = make_xray(question_seed, 0, 16);
  const at::Tensor image = image_of_grey(grey);
  EXPECT_NEAR(image[2][3][4].item<double>(), (grey[3][4].item<double>() - 0.406) / 0.225, 1e-5);
}

TEST(PhantomQuestions, AStudyWithoutObjectsHasTheWholeImage) {
  QuestionFacts facts;
  facts.question = "Is there a lesion?";
  const Sample one = sample_of(facts, WordPiece(phantom_words()), some_phantoms().sizes);
  EXPECT_EQ(one.at(sample::objects_mask).sum().item<int64_t>(), 1);
  EXPECT_EQ(one.at(sample::boxes)[0][2].item<float>(), 1);
  facts.objects.assign(9, SceneObject{{0, 0, 0.5F, 0.5F}, 3, 4});
  EXPECT_EQ(sample_of(facts, WordPiece(phantom_words()), some_phantoms().sizes)
                .at(sample::objects_mask)
                .sum()
                .item<int64_t>(),
            6);
}

}  // namespace
}  // namespace larmor::xray_vqa
