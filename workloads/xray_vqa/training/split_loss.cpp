#include "workloads/xray_vqa/training/split_loss.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "larmor/judge/bootstrap.h"

namespace larmor::xray_vqa {

namespace {

/// Sums over drawn questions and over labels of drawn studies.
struct LossSums {
  std::array<double, heads> entropy{}, questions{};
  double label_entropy = 0, labels = 0;

  void add(const Answered& question) {
    const auto head = static_cast<std::size_t>(question.head);
    entropy[head] += question.cross_entropy;
    questions[head] += 1;
  }
  void add(const LabelLoss& loss) {
    label_entropy += loss.entropy;
    labels += static_cast<double>(loss.labels);
  }
  double loss(const LossWeights& weights) const {
    double sum = weights.labels * label_entropy / std::max(labels, 1.0);
    for (std::size_t head = 0; head < heads; ++head)
      sum += weights.vqa * weights.of_heads[head] * entropy[head] / std::max(questions[head], 1.0);
    return sum;
  }
};

}  // namespace

SplitMetric loss_figure(const SplitAnswers& answers, const LossWeights& weights, Metrics& metrics) {
  std::vector<int64_t> examples;
  for (const Answered& question : answers.questions) examples.push_back(question.example);
  for (const LabelLoss& labels : answers.label_losses) examples.push_back(labels.example);
  return measured(metrics, examples, [&](std::span<const std::size_t> rows) -> std::optional<double> {
    LossSums sums;
    const std::size_t questions = answers.questions.size();
    for (const std::size_t row : rows) {
      if (row < questions)
        sums.add(answers.questions[row]);
      else
        sums.add(answers.label_losses[row - questions]);
    }
    return sums.loss(weights);
  });
}

}  // namespace larmor::xray_vqa
