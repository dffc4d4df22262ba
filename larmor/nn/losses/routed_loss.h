// The loss of heads of which each question asks one.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace larmor::nn {

/// The answers [N] of each of `heads` heads: those of the questions that are its own, -1 for all others. head
/// and answer [N] (int64); an answer below 0 is not known.
std::vector<at::Tensor> routed_answers(const at::Tensor& head, const at::Tensor& answer, int64_t heads);

/// How many answers of each head are known: [heads] in float64.
at::Tensor counts_of_answers(const std::vector<at::Tensor>& answers);

/// The cross-entropy of logits [N, classes], summed over the answers [N] that are at least 0, in float32 at
/// least; 0 where there are none. Divided by the head's count over a whole step it does not depend on how the
/// step is shared out.
at::Tensor summed_cross_entropy(const at::Tensor& logits, const at::Tensor& answers);

}  // namespace larmor::nn
