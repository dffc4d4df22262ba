#include "workloads/xray_vqa/training/answer_charts.h"

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/comm/communicator.h"
#include "larmor/judge/validation.h"
#include "larmor/run/loaded_stage.h"

#include "workloads/xray_vqa/tests/pretrain_stage.h"

namespace larmor::xray_vqa {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Keeps what is drawn and said.
class DrawnMetrics final : public Metrics {
 public:
  void value(const std::string&, int64_t, double) override {}
  void note(const std::string&, int64_t, double) override {}
  void figure(const std::string&, const SplitMetric&) override {}
  void picture(const std::string& name, const Image& image) override { pictures[name] = image; }
  void remark(const std::string& sentence) override { remarks.push_back(sentence); }
  bool wants_pictures() const override { return true; }
  ValidationDepth depth() const override { return ValidationDepth::full; }

  std::map<std::string, Image> pictures;
  std::vector<std::string> remarks;
};

Answered answered(int64_t head, int64_t answer, int64_t given, double confidence = 0.7) {
  return {.head = head, .answer = answer, .given = given, .confidence = confidence};
}

DrawnMetrics drawn(std::vector<Answered> questions) {
  DrawnMetrics metrics;
  SplitAnswers answers;
  answers.questions = std::move(questions);
  draw_answer_charts(answers, "_x", "the picture alone", {}, metrics);
  return metrics;
}

std::vector<std::string> names_of(const DrawnMetrics& metrics) {
  std::vector<std::string> names;
  for (const auto& [name, image] : metrics.pictures) {
    names.push_back(name);
    EXPECT_GE(std::min(image.width, image.height), 512) << name;
  }
  return names;
}

TEST(AnswerCharts, AreOfConfidenceAndOfEachKindOfQuestion) {
  const auto metrics = drawn({answered(0, 1, 1), answered(0, 0, 1), answered(3, 2, 0)});
  EXPECT_THAT(names_of(metrics), ElementsAre("confusion_binary_x", "confusion_severity_x", "reliability_x"));
  ASSERT_EQ(metrics.remarks.size(), 1U);
  EXPECT_THAT(metrics.remarks[0], HasSubstr("category (no question), region (no question)"));
}

TEST(AnswerCharts, SayWhyOneIsNotThere) {
  const auto none = drawn({});
  EXPECT_TRUE(none.pictures.empty());
  EXPECT_THAT(none.remarks, ElementsAre(StartsWith("no chart of reliability")));
  const auto one_class = drawn({answered(3, 1, 1), answered(3, 1, 1)});
  EXPECT_THAT(names_of(one_class), ElementsAre("reliability_x"));
  EXPECT_THAT(one_class.remarks,
              ElementsAre(HasSubstr("severity (2 answers, true and given \"mild\" every time)")));
}

TEST(AnswerCharts, ChangeWithWhatIsTakenForWhatAndHowSurely) {
  const auto one = drawn({answered(0, 1, 1), answered(0, 0, 1)}),
             other = drawn({answered(0, 1, 1), answered(0, 1, 0)});
  EXPECT_NE(one.pictures.at("confusion_binary_x").pixels, other.pictures.at("confusion_binary_x").pixels);
  EXPECT_EQ(one.pictures.at("reliability_x").pixels, other.pictures.at("reliability_x").pixels);
  const auto surer = drawn({answered(0, 1, 1, 0.9), answered(0, 0, 1, 0.9)});
  EXPECT_NE(one.pictures.at("reliability_x").pixels, surer.pictures.at("reliability_x").pixels);
}

TEST(AnswerCharts, HaveTheBinsThatTheCalibrationErrorIsOf) {
  const std::vector<double> confidence = {0.9, 0.9, 0.9, 0.9, 0.3, 1.0}, right = {1, 1, 1, 0, 0, 1};
  const auto bins = reliability_bins(confidence, right);
  ASSERT_EQ(bins.size(), 15U);
  EXPECT_EQ(bins[13].answers, 4);
  EXPECT_NEAR(bins[13].confidence, 3.6, 1e-12);
  EXPECT_EQ(bins[13].right, 3);
  EXPECT_EQ(bins[14].answers, 1) << "1 is in the last one";
  double sum = 0;
  for (const ReliabilityBin& bin : bins) sum += std::abs(bin.difference);
  EXPECT_EQ(sum / 6, calibration_error(confidence, right));
}

/// A small network before invented studies, of which a split is validated.
class PicturesOfAValidation : public ::testing::Test {
 protected:
  PicturesOfAValidation()
      : loaded_(load_pretrain("tiny", {})),
        index_(loaded_.stage->index(loaded_.config.config)),
        cases_(loaded_.stage->dataset(loaded_.config.config, index_, Split::train)) {}

  std::vector<ValidationResult> validated(int ranks, ValidationOptions options) {
    auto communicators = make_thread_ranks(ranks);
    std::vector<ValidationResult> results(communicators.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < communicators.size(); ++rank) {
      threads.emplace_back([&, rank] {
        const auto task = loaded_.stage->task(loaded_.config.config, index_);
        results[rank] = validate(*task, *cases_, *communicators[rank], options);
      });
    }
    for (auto& thread : threads) thread.join();
    return results;
  }

  static std::vector<std::string> names_of(const ValidationResult& result) {
    std::vector<std::string> names;
    for (const auto& [name, image] : result.pictures) names.push_back(name);
    return names;
  }

  static void expect_same_figures(const ValidationResult& one, const ValidationResult& other) {
    ASSERT_EQ(one.metrics.size(), other.metrics.size());
    for (const auto& [name, metric] : one.metrics) {
      const MetricResult& same = other.metrics.at(name);
      EXPECT_TRUE(metric.mean == same.mean || (std::isnan(metric.mean) && std::isnan(same.mean))) << name;
      EXPECT_EQ(metric.interval, same.interval) << name;
    }
  }

  LoadedStage loaded_;
  Index index_;
  std::unique_ptr<Dataset> cases_;
};

TEST_F(PicturesOfAValidation, AreDrawnByRankZeroAndChangeNoFigure) {
  const auto plain = validated(1, {})[0];
  EXPECT_TRUE(plain.pictures.empty());
  for (const int ranks : {1, 2}) {
    const auto results = validated(ranks, {.pictures = true});
    EXPECT_THAT(names_of(results[0]), Contains("examples"));
    EXPECT_THAT(names_of(results[0]), Contains("reliability_without_scene"));
    EXPECT_THAT(names_of(results[0]), Contains("confusion_binary_without_scene"));
    EXPECT_THAT(names_of(results[0]), Not(Contains("reliability"))) << "predict sees the picture alone";
    for (const ValidationResult& result : results) expect_same_figures(result, plain);
    EXPECT_TRUE(ranks == 1 || results.back().pictures.empty());
  }
}

TEST_F(PicturesOfAValidation, AreOfBothKindsOfInputsWhereANetworkIsJudged) {
  const auto result = validated(1, {.pictures = true, .depth = ValidationDepth::full})[0];
  for (const char* name : {"reliability", "reliability_without_scene", "confusion_binary"})
    EXPECT_THAT(names_of(result), Contains(name));
  expect_same_figures(result, validated(1, {.depth = ValidationDepth::full})[0]);
}

}  // namespace
}  // namespace larmor::xray_vqa
