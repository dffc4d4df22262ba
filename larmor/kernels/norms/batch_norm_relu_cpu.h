// The loops of batch normalisation on CPUs, with what may stand behind it: a sum with another tensor, and
// ReLU. No libtorch: stretches of memory and sizes. The pieces are those of group normalisation with a group
// a channel, and channels are brought together over samples in one order: the same bits on any number of
// threads.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "larmor/kernels/norms/group_norm_silu_cpu.h"

namespace larmor::batch_norms {

using group_norms::Bfloat16;
using group_norms::Coefficients;
using group_norms::GradientSums;
using group_norms::Moments;
using group_norms::Pieces;
using group_norms::Shape;

/// What elements are computed in. The loops wait for memory, so float64 costs float32 nothing, and results
/// are off by their own rounding alone.
template <class Element>
using NumberOf = std::conditional_t<std::is_same_v<Element, Bfloat16>, float, double>;

/// The shape; with channels last the voxels of all samples are those of one: [1, samples * voxels, channels].
Shape shape_of(int64_t samples, int64_t channels, int64_t voxels, bool channels_last);

/// What a channel is normalised by, [channels] each.
struct Channels {
  const double *weight, *bias, *mean, *variance;
  double epsilon;
};

/// partial as group_norms::measure_pieces() gives them; mean and biased variance [channels], 0 without
/// values.
void merge_moments(const Shape& shape, const std::vector<Moments>& partial, double* mean, double* variance);

/// Coefficients of [samples, channels], of one sample at least. `means` [2, channels], or nullptr where
/// moments are constants: of the products of the gradient with normalised values, and of the gradient, over
/// all values of a channel.
template <class Number>
Coefficients<Number> coefficients(const Shape& shape, const Channels& channels, const double* means);

/// `added` lies as the input does, or is nullptr. What is not a number stays so behind ReLU.
template <class Element>
void normalise_pieces(const Shape& shape, const Coefficients<NumberOf<Element>>& by, const Element* input,
                      const Element* added, bool activated, int64_t first, int64_t end, Element* output);

/// Where ReLU lets gradients through.
enum class Gate {
  open,    // everywhere: there is no ReLU
  output,  // where the output is above zero
  input    // where the input, normalised again, is above zero
};

/// partial [pieces, Pieces::columns]: sums of the gradient behind the gate. With Gate::output it is stored at
/// `below`, which lies as the input does; `output` and `below` are nullptr else.
template <class Element>
void sum_gradient_pieces(const Shape& shape, const Coefficients<NumberOf<Element>>& by, Gate gate,
                         const Element* input, const Element* gradient, const Element* output, int64_t first,
                         int64_t end, Element* below, GradientSums* partial);

/// sums [2, channels]: of the gradient times normalised values, and of the gradient.
void merge_gradient_sums(const Shape& shape, const Channels& channels,
                         const std::vector<GradientSums>& partial, const std::vector<double>& centre,
                         double* sums);

/// Requires: the gate is open or that of the input.
template <class Element>
void differentiate_pieces(const Shape& shape, const Coefficients<NumberOf<Element>>& by, Gate gate,
                          const Element* input, const Element* gradient, int64_t first, int64_t end,
                          Element* of_input);

}  // namespace larmor::batch_norms
