// The loss of answers and labels, as parts of sums over a step.
#pragma once

#include <array>
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "workloads/xray_vqa/network/vqa_network.h"

namespace larmor::xray_vqa {

struct LossWeights {
  double vqa = 1, labels = 0.3;
  std::array<double, heads> of_heads = {1, 0.5, 0.5, 0.3};
};

/// What a batch is held against.
struct VqaTargets {
  std::array<at::Tensor, heads> answers;  // [N] int64, by Head; below 0 for questions that are not the head's
  at::Tensor labels, labels_mask;         // [N, 14], of which those count that are true in the mask
};

/// The targets, from the head and the answer [N] of each question, -1 where there is none.
VqaTargets targets_of(const at::Tensor& head, const at::Tensor& answer, const at::Tensor& labels,
                      const at::Tensor& labels_mask);

/// [heads + 1] in float64: the questions of each head whose answer is known, and the labels that count.
at::Tensor counts_of(const VqaTargets& targets);

struct VqaLoss {
  std::array<at::Tensor, heads> answers;  // summed cross-entropy of each head
  at::Tensor labels;                      // summed binary cross-entropy
  at::Tensor vqa, total;                  // of the sums, each divided by its count
};

/// The loss with counts_of() of all that is normalised together: a batch, or a whole step, of which this is
/// then a part. A head that nobody asked adds nothing.
VqaLoss vqa_loss(const VqaOutputs& outputs, const VqaTargets& targets, const at::Tensor& counts,
                 const LossWeights& weights);

}  // namespace larmor::xray_vqa
