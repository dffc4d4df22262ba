#include "workloads/xray_vqa/network/vqa_loss.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

namespace larmor::xray_vqa {
namespace {

constexpr int64_t not_asked = -1;

/// Losses add up in float32 at least.
at::Tensor wide(const at::Tensor& logits) {
  return logits.scalar_type() == at::kDouble ? logits : logits.to(at::kFloat);
}

}  // namespace

VqaTargets targets_of(const at::Tensor& head, const at::Tensor& answer, const at::Tensor& labels,
                      const at::Tensor& labels_mask) {
  VqaTargets targets;
  for (std::size_t i = 0; i < heads; ++i)
    targets.answers[i] = at::where(head == static_cast<int64_t>(i), answer, not_asked);
  targets.labels = labels;
  targets.labels_mask = labels_mask;
  return targets;
}

at::Tensor counts_of(const VqaTargets& targets) {
  std::vector<at::Tensor> counts;
  for (const at::Tensor& answers : targets.answers) counts.push_back((answers >= 0).sum());
  counts.push_back(targets.labels_mask.sum());
  return at::stack(counts).to(at::kDouble);
}

VqaLoss vqa_loss(const VqaOutputs& outputs, const VqaTargets& targets, const at::Tensor& counts,
                 const LossWeights& weights) {
  VqaLoss loss;
  const at::Tensor labels = wide(outputs.labels);
  const at::Tensor divisors = counts.to(labels.device(), labels.scalar_type()).clamp_min(1);
  for (std::size_t i = 0; i < heads; ++i) {
    const at::Tensor& answers = targets.answers[i];
    // Class 0 stands in for those that do not count, and their share is left out.
    const at::Tensor each =
        at::cross_entropy_loss(wide(outputs.answers[i]), answers.clamp_min(0), {}, at::Reduction::None);
    loss.answers[i] = at::where(answers >= 0, each, 0).sum();
    const at::Tensor share = loss.answers[i] / divisors[static_cast<int64_t>(i)] * weights.of_heads[i];
    loss.vqa = i == 0 ? share : loss.vqa + share;
  }
  const at::Tensor each = at::binary_cross_entropy_with_logits(
      labels, targets.labels.to(labels.scalar_type()), {}, {}, at::Reduction::None);
  loss.labels = at::where(targets.labels_mask, each, 0).sum();
  loss.total = weights.vqa * loss.vqa + weights.labels * loss.labels / divisors[heads];
  return loss;
}

}  // namespace larmor::xray_vqa
