#include "larmor/nn/losses/routed_loss.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

namespace larmor::nn {
namespace {

constexpr int64_t not_asked = -1;

/// Losses add up in float32 at least.
at::Tensor wide(const at::Tensor& logits) {
  return logits.scalar_type() == at::kDouble ? logits : logits.to(at::kFloat);
}

}  // namespace

std::vector<at::Tensor> routed_answers(const at::Tensor& head, const at::Tensor& answer, int64_t heads) {
  std::vector<at::Tensor> answers;
  for (int64_t i = 0; i < heads; ++i) answers.push_back(at::where(head == i, answer, not_asked));
  return answers;
}

at::Tensor counts_of_answers(const std::vector<at::Tensor>& answers) {
  std::vector<at::Tensor> counts;
  for (const at::Tensor& of_head : answers) counts.push_back((of_head >= 0).sum());
  return at::stack(counts).to(at::kDouble);
}

at::Tensor summed_cross_entropy(const at::Tensor& logits, const at::Tensor& answers) {
  // Class 0 stands in for those that do not count, and their share is left out.
  const at::Tensor each = at::cross_entropy_loss(wide(logits), answers.clamp_min(0), {}, at::Reduction::None);
  return at::where(answers >= 0, each, 0).sum();
}

}  // namespace larmor::nn
