#include "workloads/xray_vqa/training/vqa_figures.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/judge/verdict.h"

#include "workloads/xray_vqa/training/declared_vqa.h"

namespace larmor::xray_vqa {
namespace {

/// Keeps what is recorded.
class KeptMetrics final : public Metrics {
 public:
  explicit KeptMetrics(ValidationDepth depth) : depth_(depth) {}
  void value(const std::string&, int64_t, double) override {}
  void note(const std::string&, int64_t, double) override {}
  void figure(const std::string& name, const SplitMetric& figure) override { figures[name] = figure; }
  void picture(const std::string&, const Image&) override {}
  void remark(const std::string& sentence) override { remarks.push_back(sentence); }
  bool wants_pictures() const override { return false; }
  ValidationDepth depth() const override { return depth_; }
  std::string patient(int64_t example) const override {
    return patients.empty() ? Metrics::patient(example) : patients.at(static_cast<std::size_t>(example));
  }

  std::vector<std::string> patients, remarks;
  std::map<std::string, SplitMetric> figures;

 private:
  ValidationDepth depth_;
};

std::vector<const LabelSeen*> pointers_to_labels(const std::vector<LabelSeen>& labels) {
  std::vector<const LabelSeen*> all;
  for (const LabelSeen& label : labels) all.push_back(&label);
  return all;
}

TEST(VqaFigures, CountPairsOfLabelsForTheAreaUnderTheCurve) {
  std::vector<LabelSeen> labels;
  for (int i = 0; i < 12; ++i)
    labels.push_back({.example = i,
                      .label = 0,
                      .truth = static_cast<double>(i % 3 == 0),
                      .probability = static_cast<double>((5 * i) % 7) / 7});
  double pairs = 0, won = 0;
  for (const LabelSeen& one : labels) {
    for (const LabelSeen& other : labels) {
      if (one.truth != 1 || other.truth != 0) continue;
      pairs += 1;
      won += one.probability > other.probability ? 1 : one.probability == other.probability ? 0.5 : 0;
    }
  }
  EXPECT_NEAR(auroc(pointers_to_labels(labels)).value(), won / pairs, 1e-12);
  for (LabelSeen& label : labels) label.truth = 1;
  EXPECT_FALSE(auroc(pointers_to_labels(labels))) << "of one kind alone";
  labels.resize(9);
  labels.front().truth = 0;
  EXPECT_FALSE(auroc(pointers_to_labels(labels))) << "fewer than ten";
}

TEST(VqaFigures, AverageF1OverTheClassesThatAreSeen) {
  const std::vector<Answered> questions = {{.answer = 0, .given = 0},
                                           {.answer = 0, .given = 1},
                                           {.answer = 2, .given = 2},
                                           {.answer = 2, .given = 2}};
  std::vector<const Answered*> all;
  for (const Answered& question : questions) all.push_back(&question);
  // Class 0: P 1, R 1/2. Class 1 is given and never right. Class 2: both 1.
  EXPECT_NEAR(macro_f1(all).value(), (2.0 / 3 + 0 + 1) / 3, 1e-12);
  EXPECT_FALSE(macro_f1({}));
}

TEST(VqaFigures, MeasureHowFarConfidenceIsFromTheTruth) {
  const std::vector<double> confidence = {0.9, 0.9, 0.9, 0.9, 0.3, 0.3}, right = {1, 1, 1, 0, 0, 0};
  EXPECT_NEAR(calibration_error(confidence, right), (4 * 0.15 + 2 * 0.3) / 6, 1e-12);
  EXPECT_NEAR(calibration_error(std::vector<double>{1.0}, std::vector<double>{1.0}), 0, 1e-12);
  EXPECT_TRUE(std::isnan(calibration_error({}, {})));
}

TEST(VqaFigures, AnswerByTypeAndByWordsWhatIsMostFrequentInTraining) {
  const std::vector<Answered> training = {{.type = 3, .words = 7, .answer = 1},
                                          {.type = 3, .words = 7, .answer = 1},
                                          {.type = 3, .words = 8, .answer = 0},
                                          {.type = 5, .words = 9, .answer = 2}};
  const Baselines baselines(training);
  const Answered known{.type = 3, .words = 8}, reworded{.type = 3, .words = 11}, unknown{.type = 4};
  EXPECT_EQ(baselines.of_type(known), 1);
  EXPECT_EQ(baselines.of_words(known), 0);
  EXPECT_EQ(baselines.of_words(reworded), 1);
  EXPECT_EQ(baselines.of_words(unknown), -1);
}

/// Three questions of two studies, and labels of both.
CaseValues invented_values() {
  CaseValues cases;
  cases[note::study] = {{0, 0}, {1, 0}, {2, 1}};
  cases[note::head] = {{0, 0}, {1, 1}, {2, 0}};
  cases[note::type] = {{0, 2}, {1, 4}, {2, 2}};
  cases[note::answer] = {{0, 1}, {1, 3}, {2, 0}};
  cases[note::given] = {{0, 1}, {1, 2}, {2, 0}};
  cases[note::confidence] = {{0, 0.8}, {1, 0.5}, {2, 0.6}};
  cases[note::cross_entropy] = {{0, 0.2}, {1, 1.5}, {2, 0.4}};
  cases[note::label_entropy] = {{0, 0.5}, {1, 0.5}, {2, 0.8}};
  cases["label_4"] = {{0, 1}, {1, 1}, {2, 0.5}};
  cases["probability_4"] = {{0, 0.7}, {1, 0.9}, {2, 0.1}};
  return cases;
}

TEST(VqaFigures, TakeTheLabelsOfAStudyOnceAndOpenOnesNever) {
  const auto split = SplitAnswers::from(invented_values());
  ASSERT_EQ(split.questions.size(), 3U);
  ASSERT_EQ(split.labels.size(), 1U);
  EXPECT_EQ(split.labels[0].label, 4);
  EXPECT_EQ(split.labels[0].probability, 0.7);
  int64_t labels = 0;
  for (const LabelLoss& loss : split.label_losses) labels += loss.labels;
  EXPECT_EQ(labels, 3);
}

/// A question about each of forty patients, half of whom are to be answered yes; of the picture alone the
/// network guesses.
CaseValues answered_by_the_scene(bool has_scene) {
  CaseValues cases;
  for (int64_t example = 0; example < 40; ++example) {
    const auto truth = static_cast<double>(example % 2);
    for (const char* name : {note::head, note::type, note::words}) cases[name].emplace_back(example, 0);
    cases[note::study].emplace_back(example, example);
    cases[note::answer].emplace_back(example, truth);
    cases[note::scene].emplace_back(example, has_scene ? 1 : 0);
    cases[note::given].emplace_back(example, truth);
    cases[text(note::given, note::without_scene)].emplace_back(example, example / 2 % 2);
    cases[text(note::confidence, note::without_scene)].emplace_back(example, 0.9);
  }
  return cases;
}

TEST(VqaFigures, OfThePictureAloneStandBesideThoseOfTheSceneWithASentence) {
  const auto cases = answered_by_the_scene(/*has_scene=*/true);
  const auto split = SplitAnswers::from(cases), alone = SplitAnswers::without_scene(cases);
  KeptMetrics metrics(ValidationDepth::full), quick(ValidationDepth::quick);
  record_vqa_figures(split, alone, Baselines(split.questions), {}, metrics);
  EXPECT_EQ(metrics.figures.at("accuracy").value, 1);
  EXPECT_EQ(metrics.figures.at("accuracy_without_scene").value, 0.5);
  EXPECT_TRUE(metrics.figures.at("accuracy_without_scene").interval);
  EXPECT_EQ(metrics.figures.at("accuracy_binary_without_scene").value, 0.5);
  EXPECT_NEAR(metrics.figures.at("ece_without_scene").value, 0.4, 1e-12);
  EXPECT_TRUE(metrics.figures.contains("auroc_without_scene"));
  ASSERT_EQ(metrics.remarks.size(), 1U);
  EXPECT_THAT(metrics.remarks[0], ::testing::StartsWith("40 of 40 questions were answered with the scene"));
  const auto verdicts = verdicts_of(declared_vqa_figures(), metrics.figures);
  const auto alone_verdict = std::ranges::find(verdicts, "accuracy_without_scene", &Verdict::figure);
  ASSERT_NE(alone_verdict, verdicts.end());
  EXPECT_EQ(alone_verdict->baseline.name, "accuracy_majority");
  EXPECT_THAT(sentence_of(*alone_verdict),
              ::testing::HasSubstr("; nothing is known to have been learnt from the pictures"));
  record_vqa_figures(split, alone, Baselines(split.questions), {}, quick);
  EXPECT_EQ(quick.figures.at("accuracy_without_scene").value, 0.5);
  EXPECT_FALSE(quick.figures.contains("accuracy_binary_without_scene")) << "one line a validation";
  EXPECT_TRUE(quick.remarks.empty());
}

TEST(VqaFigures, SayWhyTheyAreNoNumbers) {
  auto cases = answered_by_the_scene(/*has_scene=*/false);
  for (auto& [example, given] : cases[note::given]) given = 0;
  const auto split = SplitAnswers::from(cases);
  KeptMetrics metrics(ValidationDepth::full);
  record_vqa_figures(split, split, Baselines(split.questions), {}, metrics);
  EXPECT_TRUE(std::isnan(metrics.figures.at("precision_binary").value));
  EXPECT_EQ(metrics.figures.at("precision_binary").undefined, "no answer is yes");
  EXPECT_EQ(metrics.figures.at("recall_binary").undefined, "");
  EXPECT_THAT(metrics.figures.at("auroc").undefined, ::testing::HasSubstr("no label has 10 studies"));
  EXPECT_EQ(metrics.figures.at("auroc").undefined_parts.at("Edema"), "fewer than 10 studies");
}

TEST(VqaFigures, NeedNoSentenceWhereThePictureAloneAnswers) {
  const auto split = SplitAnswers::from(answered_by_the_scene(/*has_scene=*/false));
  KeptMetrics metrics(ValidationDepth::full);
  record_vqa_figures(split, split, Baselines(split.questions), {}, metrics);
  EXPECT_TRUE(metrics.remarks.empty());
}

/// Twenty pictures of each patient; whom one asks about is in all of theirs, the other in none.
TEST(VqaFigures, HaveIntervalsOverPatientsAndNotOverTheirStudies) {
  CaseValues cases;
  KeptMetrics metrics(ValidationDepth::full), of_one(ValidationDepth::full);
  for (int64_t example = 0; example < 40; ++example) {
    for (const char* name : {note::head, note::type}) cases[name].emplace_back(example, 0);
    cases[note::study].emplace_back(example, example);
    cases[note::answer].emplace_back(example, example < 20 ? 1 : 0);
    cases[note::given].emplace_back(example, 1);
    metrics.patients.emplace_back(example < 20 ? "sick" : "healthy");
    of_one.patients.emplace_back("sick");
  }
  const auto split = SplitAnswers::from(cases);
  record_vqa_figures(split, split, Baselines(split.questions), {}, metrics);
  for (const char* name : {"accuracy", "accuracy_binary", "precision_binary"}) {
    EXPECT_EQ(metrics.figures.at(name).value, 0.5) << name;
    EXPECT_EQ(metrics.figures.at(name).interval, std::pair(0.0, 1.0)) << name;
  }
  record_vqa_figures(split, split, Baselines(split.questions), {}, of_one);
  EXPECT_FALSE(of_one.figures.at("accuracy").interval);
  EXPECT_EQ(of_one.figures.at("accuracy").no_interval, "of one patient");
}

TEST(VqaFigures, AreRecordedWithBaselinesAndIntervals) {
  const auto split = SplitAnswers::from(invented_values());
  KeptMetrics metrics(ValidationDepth::full);
  record_vqa_figures(split, split, Baselines(split.questions), {}, metrics);
  EXPECT_NEAR(metrics.figures.at("accuracy").value, 2.0 / 3, 1e-12);
  EXPECT_TRUE(metrics.figures.at("accuracy").interval);
  EXPECT_NEAR(metrics.figures.at("accuracy_binary").value, 1, 1e-12);
  EXPECT_NEAR(metrics.figures.at("accuracy_category").value, 0, 1e-12);
  EXPECT_FALSE(metrics.figures.contains("accuracy_region"));
  EXPECT_FALSE(metrics.figures.contains("accuracy_image_blind"));
  EXPECT_NEAR(metrics.figures.at("accuracy_majority").value, 2.0 / 3, 1e-12);
  EXPECT_EQ(metrics.figures.at("auroc").parts.size(), 14U);
  EXPECT_NEAR(metrics.figures.at("loss").value, (0.2 + 0.4) / 2 + 0.5 * 1.5 + 0.3 * 1.8 / 3, 1e-12);
  KeptMetrics quick(ValidationDepth::quick);
  record_vqa_figures(split, split, Baselines(split.questions), {}, quick);
  EXPECT_FALSE(quick.figures.at("accuracy").interval);
}

}  // namespace
}  // namespace larmor::xray_vqa
