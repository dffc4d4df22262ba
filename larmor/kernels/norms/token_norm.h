// Layer normalisation of tokens, alone or with a modulation behind it, as operators of libtorch's dispatcher
// (larmor::token_norm and its backward) for CPUs, GPUs and the meta device. One pass over memory forward and
// one backward on CPUs, where the bits depend neither on the number of threads nor on the CPU; on GPUs they
// are made of libtorch's operators. Backward keeps the input, the numbers of channels and two numbers a
// token. Differentiable any number of times; derivatives beyond the first are computed by libtorch's
// operators.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor {

/// Normalises over the last axis of input [..., C], of any floating type, with weight and bias [C]: as the
/// input in type, contiguous. Float32 and bfloat16 are computed in float32.
at::Tensor normalise_tokens(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                            double epsilon);

/// normalise_tokens() times (1 + scale) plus shift, of input [N, ..., C], with scale and shift [N, C].
at::Tensor normalise_and_modulate(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                                  const at::Tensor& scale, const at::Tensor& shift, double epsilon);

}  // namespace larmor
