#include "larmor/nn/losses/dice_loss.h"

#include <cassert>
#include <numeric>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/TensorBody.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/square.h>
#include <c10/core/ScalarType.h>

#include "larmor/nn/metrics/overlap.h"

namespace larmor::nn {
namespace {

/// Logarithms of probabilities, in float32 at least.
at::Tensor log_probabilities(const at::Tensor& logits) {
  return at::log_softmax(logits, 1, c10::promoteTypes(logits.scalar_type(), at::kFloat));
}

at::Tensor dice_of(at::Tensor probabilities, at::Tensor truth, const DiceOptions& options) {
  if (!options.include_background) {
    const int64_t others = probabilities.size(1) - 1;
    assert(others > 0);
    probabilities = probabilities.narrow(1, 1, others);
    truth = truth.narrow(1, 1, others);
  }
  std::vector<int64_t> summed(static_cast<std::size_t>(probabilities.dim() - 2));
  std::iota(summed.begin(), summed.end(), 2);
  if (options.batch) summed.push_back(0);
  const at::Tensor common = (probabilities * truth).sum(summed);
  // A truth of zeros and ones is its own square.
  const at::Tensor both =
      (options.squared_pred ? at::square(probabilities) : probabilities).sum(summed) + truth.sum(summed);
  return (1 - (2 * common + options.smooth_nr) / (both + options.smooth_dr)).mean();
}

}  // namespace

at::Tensor dice_loss(const at::Tensor& logits, const at::Tensor& classes, const DiceOptions& options) {
  const at::Tensor probabilities = log_probabilities(logits).exp();
  return dice_of(probabilities, as_one_hot(classes, logits.size(1)).to(probabilities.scalar_type()), options);
}

at::Tensor dice_cross_entropy_loss(const at::Tensor& logits, const at::Tensor& classes,
                                   const DiceCrossEntropyOptions& options) {
  const at::Tensor logarithms = log_probabilities(logits);
  const at::Tensor truth = as_one_hot(classes, logits.size(1)).to(logarithms.scalar_type());
  const at::Tensor cross_entropy = (logarithms * truth).sum(1).mean().neg();
  return options.lambda_dice * dice_of(logarithms.exp(), truth, options.dice) +
         options.lambda_ce * cross_entropy;
}

}  // namespace larmor::nn
