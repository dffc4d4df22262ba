#include "workloads/xray_vqa/network/vqa_loss.h"

#include <algorithm>

#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/where.h>

#include "larmor/nn/losses/routed_loss.h"

namespace larmor::xray_vqa {
namespace {

/// Losses add up in float32 at least.
at::Tensor wide(const at::Tensor& logits) {
  return logits.scalar_type() == at::kDouble ? logits : logits.to(at::kFloat);
}

}  // namespace

VqaTargets targets_of(const at::Tensor& head, const at::Tensor& answer, const at::Tensor& labels,
                      const at::Tensor& labels_mask) {
  VqaTargets targets;
  std::ranges::move(nn::routed_answers(head, answer, heads), targets.answers.begin());
  targets.labels = labels;
  targets.labels_mask = labels_mask;
  return targets;
}

at::Tensor counts_of(const VqaTargets& targets) {
  const at::Tensor answers = nn::counts_of_answers({targets.answers.begin(), targets.answers.end()});
  return at::cat({answers, targets.labels_mask.sum().to(at::kDouble).view(1)});
}

VqaLoss vqa_loss(const VqaOutputs& outputs, const VqaTargets& targets, const at::Tensor& counts,
                 const LossWeights& weights) {
  VqaLoss loss;
  const at::Tensor labels = wide(outputs.labels);
  const at::Tensor divisors = counts.to(labels.device(), labels.scalar_type()).clamp_min(1);
  for (std::size_t i = 0; i < heads; ++i) {
    loss.answers[i] = nn::summed_cross_entropy(outputs.answers[i], targets.answers[i]);
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
