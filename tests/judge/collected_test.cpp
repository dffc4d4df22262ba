// What a validation makes of what a task records: verdicts, reasons, and how far it is.
#include "larmor/judge/collected.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include "larmor/judge/validation.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

/// Examples whose image is their number.
class CountedNumbers final : public Dataset {
 public:
  explicit CountedNumbers(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  Sample get(const ExampleKey& key) const override {
    return {{"image", at::full({1}, static_cast<double>(key.example), at::kDouble)}};
  }
  std::string name(int64_t example) const override { return std::to_string(example); }

 private:
  int64_t size_;
};

/// The square of each number beside twice the number, and a root, which 3 is said not to have.
class JudgedTask final : public Task {
 public:
  std::vector<Objective> objectives() override { return {{"judged", network_.get()}}; }
  std::vector<at::Tensor> losses(const Batch&, const StepContext&) override { return {}; }
  DeclaredFigures figures() const override {
    return {{.name = "loss", .better = Better::lower, .baselines = {{.name = "twice"}}},
            {.name = "root", .better = Better::higher}};
  }
  void validate(const Batch& batch, Metrics& metrics) override {
    const auto example = batch.keys.front().example;
    const double number = batch.at("image").item<double>();
    metrics.value("loss", example, number * number);
    metrics.value("twice", example, 2 * number);
    metrics.value("root", example, number == 3 ? std::nan("") : std::sqrt(number));
    if (const auto shows = metrics.progress()) shows(0.5);
  }

 private:
  torch::nn::Linear network_{1, 1};
};

TEST(Collected, IsJudgedByTheBaselinesThatTheTaskDeclares) {
  JudgedTask task;
  const auto quick = validate(task, CountedNumbers(5), *make_solo(), {});
  ASSERT_EQ(quick.verdicts.size(), 1U);
  EXPECT_EQ(sentence_of(quick.verdicts[0]),
            "loss 6.00 is above its baseline twice 4.00 by 2.00, and lower is better");
  const auto full = validate(task, CountedNumbers(5), *make_solo(), {.depth = ValidationDepth::full});
  EXPECT_TRUE(full.verdicts.at(0).interval);
  EXPECT_EQ(full.verdicts.at(0).patients, 5);
}

TEST(Collected, SaysOfHowManyCasesAMeanIsNoNumber) {
  JudgedTask task;
  const auto result = validate(task, CountedNumbers(5), *make_solo(), {});
  EXPECT_TRUE(std::isnan(result.metrics.at("root").mean));
  EXPECT_EQ(result.metrics.at("root").undefined, "it is no number for 1 of 5 cases");
  EXPECT_EQ(result.metrics.at("loss").undefined, "");
}

TEST(Collected, TellsHowManyCasesAreDoneAndHowFarOneIs) {
  JudgedTask task;
  std::vector<std::pair<int64_t, double>> shown;
  validate(task, CountedNumbers(3), *make_solo(), {.progress = [&](const WorkProgress& progress) {
             shown.emplace_back(progress.done, progress.part);
           }});
  EXPECT_THAT(shown, ElementsAre(Pair(0, 0), Pair(0, 0.5), Pair(1, 0), Pair(1, 0.5), Pair(2, 0), Pair(2, 0.5),
                                 Pair(3, 0)));
}

}  // namespace
}  // namespace larmor::testing
