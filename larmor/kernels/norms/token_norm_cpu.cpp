// Built with flags of its own (CMakeLists.txt). What the marked loops call is always inlined: out of line it
// would be compiled for one CPU only.
#include "larmor/kernels/norms/token_norm_cpu.h"

#include <algorithm>
#include <cmath>

#include "larmor/kernels/norms/norm_lanes.h"

namespace larmor::token_norms {
namespace {

using group_norms::load;
using group_norms::store;

constexpr int64_t elements_of_piece = 1 << 14;

/// Numbers that are added side by side.
template <class Number>
struct LanesOf;
template <>
struct LanesOf<float> {
  static constexpr int64_t count = 16;
  typedef float Type __attribute__((vector_size(64), aligned(4), may_alias));
};
template <>
struct LanesOf<double> {
  static constexpr int64_t count = 8;
  typedef double Type __attribute__((vector_size(64), aligned(8), may_alias));
};

template <class Number>
constexpr int64_t padded(int64_t channels) {
  constexpr int64_t lanes = LanesOf<Number>::count;
  return (channels + lanes - 1) / lanes * lanes;
}

/// The sum of lanes, halves onto halves.
template <class Number>
[[gnu::always_inline]] inline Number sum_of_lanes(const typename LanesOf<Number>::Type& lanes) {
  Number sums[LanesOf<Number>::count];
  for (int64_t i = 0; i < LanesOf<Number>::count; ++i) sums[i] = lanes[i];
  for (int64_t half = LanesOf<Number>::count / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  return sums[0];
}

/// One token after the other. `row` holds a token and is padded to whole lanes.
template <class Element, class Number>
LARMOR_EVERY_CPU void normalise_tokens(const Element* input, int64_t tokens, int64_t channels, double epsilon,
                                       const Number* __restrict gain, const Number* __restrict offset,
                                       Number* __restrict row, Element* __restrict output,
                                       Number* __restrict mean, Number* __restrict rstd) {
  using Lanes = typename LanesOf<Number>::Type;
  constexpr int64_t lanes = LanesOf<Number>::count;
  const int64_t whole = padded<Number>(channels);
  const auto count = static_cast<double>(channels);
  for (int64_t token = 0; token < tokens; ++token) {
    const Element* const x = input + token * channels;
    Element* const y = output + token * channels;
    for (int64_t i = 0; i < channels; ++i) row[i] = load(x[i]);
    for (int64_t i = channels; i < whole; ++i) row[i] = 0;
    Lanes sum = {};
    for (int64_t i = 0; i < whole; i += lanes) sum += *reinterpret_cast<const Lanes*>(row + i);
    const auto centre = static_cast<Number>(static_cast<double>(sum_of_lanes<Number>(sum)) / count);
    for (int64_t i = channels; i < whole; ++i) row[i] = centre;
    Lanes beside = {}, squares = {};
    for (int64_t i = 0; i < whole; i += lanes) {
      const Lanes distance = *reinterpret_cast<const Lanes*>(row + i) - centre;
      *reinterpret_cast<Lanes*>(row + i) = distance;
      beside += distance;
      squares += distance * distance;
    }
    // What the rounded mean lacks.
    const double lacking = static_cast<double>(sum_of_lanes<Number>(beside)) / count;
    const double variance =
        std::max(static_cast<double>(sum_of_lanes<Number>(squares)) / count - lacking * lacking, 0.0);
    const auto scale = static_cast<Number>(1 / std::sqrt(variance + epsilon));
    const auto rest = static_cast<Number>(lacking);
    for (int64_t i = 0; i < channels; ++i) store(y[i], (row[i] - rest) * scale * gain[i] + offset[i]);
    mean[token] = static_cast<Number>(static_cast<double>(centre) + lacking);
    rstd[token] = scale;
  }
}

/// `normalised` and `slopes` hold a token each, padded with zeros; `plain` and `weighed` [padded channels]
/// grow by the gradient, and by it times the normalised token.
template <class Element, class Number>
LARMOR_EVERY_CPU void differentiate_tokens(const Element* input, const Element* gradient, int64_t tokens,
                                           int64_t channels, const Number* __restrict gain,
                                           const Number* __restrict mean, const Number* __restrict rstd,
                                           Number* __restrict normalised, Number* __restrict slopes,
                                           Number* __restrict plain, Number* __restrict weighed,
                                           Element* __restrict of_input) {
  using Lanes = typename LanesOf<Number>::Type;
  constexpr int64_t lanes = LanesOf<Number>::count;
  const int64_t whole = padded<Number>(channels);
  const auto count = static_cast<Number>(channels);
  for (int64_t token = 0; token < tokens; ++token) {
    const Element* const x = input + token * channels;
    const Element* const dy = gradient + token * channels;
    Element* const dx = of_input + token * channels;
    const Number centre = mean[token], scale = rstd[token];
    for (int64_t i = 0; i < channels; ++i) {
      const Number value = (load(x[i]) - centre) * scale, slope = load(dy[i]);
      plain[i] += slope;
      weighed[i] += slope * value;
      normalised[i] = value;
      slopes[i] = slope * gain[i];
    }
    Lanes sum = {}, product = {};
    for (int64_t i = 0; i < whole; i += lanes) {
      const Lanes slope = *reinterpret_cast<const Lanes*>(slopes + i);
      sum += slope;
      product += slope * *reinterpret_cast<const Lanes*>(normalised + i);
    }
    const Number of_mean = sum_of_lanes<Number>(sum) / count,
                 of_deviation = sum_of_lanes<Number>(product) / count;
    for (int64_t i = 0; i < channels; ++i)
      store(dx[i], scale * (slopes[i] - of_mean - normalised[i] * of_deviation));
  }
}

}  // namespace

Pieces::Pieces(const Shape& shape)
    : samples_(shape.samples),
      tokens_(shape.tokens),
      tokens_of_piece_(std::max<int64_t>(elements_of_piece / std::max<int64_t>(shape.channels, 1), 1)),
      per_sample_((shape.tokens + tokens_of_piece_ - 1) / tokens_of_piece_) {}

Piece Pieces::at(int64_t index) const {
  const int64_t sample = index / per_sample_, begin = index % per_sample_ * tokens_of_piece_;
  return {.sample = sample,
          .first = sample * tokens_ + begin,
          .count = std::min(tokens_of_piece_, tokens_ - begin)};
}

template <class Element>
void normalise(const Shape& shape, const Modulation<NumberOf<Element>>& by, double epsilon,
               const Element* input, int64_t first, int64_t end, Element* output, NumberOf<Element>* mean,
               NumberOf<Element>* rstd) {
  using Number = NumberOf<Element>;
  const Pieces pieces(shape);
  std::vector<Number> row(static_cast<size_t>(padded<Number>(shape.channels)));
  for (int64_t i = first; i < end; ++i) {
    const Piece piece = pieces.at(i);
    const int64_t place = piece.first * shape.channels;
    normalise_tokens(input + place, piece.count, shape.channels, epsilon,
                     by.gain_of(piece.sample, shape.channels), by.offset_of(piece.sample, shape.channels),
                     row.data(), output + place, mean + piece.first, rstd + piece.first);
  }
}

template <class Element>
void differentiate(const Shape& shape, const Modulation<NumberOf<Element>>& by, const Element* input,
                   const Element* gradient, const NumberOf<Element>* mean, const NumberOf<Element>* rstd,
                   int64_t first, int64_t end, Element* of_input, NumberOf<Element>* partial) {
  using Number = NumberOf<Element>;
  const Pieces pieces(shape);
  const auto whole = static_cast<size_t>(padded<Number>(shape.channels));
  std::vector<Number> normalised(whole), slopes(whole);
  for (int64_t i = first; i < end; ++i) {
    const Piece piece = pieces.at(i);
    const int64_t place = piece.first * shape.channels;
    Number* const plain = partial + i * 2 * shape.channels;
    std::fill(plain, plain + 2 * shape.channels, Number{0});
    differentiate_tokens(input + place, gradient + place, piece.count, shape.channels,
                         by.gain_of(piece.sample, shape.channels), mean + piece.first, rstd + piece.first,
                         normalised.data(), slopes.data(), plain, plain + shape.channels, of_input + place);
  }
}

template <class Number>
void add_pieces(const Shape& shape, const std::vector<Number>& partial, double* sums) {
  const Pieces pieces(shape);
  const int64_t numbers = 2 * shape.channels;
  std::fill(sums, sums + shape.samples * numbers, 0.0);
  for (int64_t piece = 0; piece < pieces.count(); ++piece) {
    const Number* const from = partial.data() + piece * numbers;
    double* const to = sums + piece / pieces.per_sample() * numbers;
    for (int64_t i = 0; i < numbers; ++i) to[i] += static_cast<double>(from[i]);
  }
}

template void normalise(const Shape&, const Modulation<float>&, double, const float*, int64_t, int64_t,
                        float*, float*, float*);
template void normalise(const Shape&, const Modulation<double>&, double, const double*, int64_t, int64_t,
                        double*, double*, double*);
template void normalise(const Shape&, const Modulation<float>&, double, const Bfloat16*, int64_t, int64_t,
                        Bfloat16*, float*, float*);
template void differentiate(const Shape&, const Modulation<float>&, const float*, const float*, const float*,
                            const float*, int64_t, int64_t, float*, float*);
template void differentiate(const Shape&, const Modulation<double>&, const double*, const double*,
                            const double*, const double*, int64_t, int64_t, double*, double*);
template void differentiate(const Shape&, const Modulation<float>&, const Bfloat16*, const Bfloat16*,
                            const float*, const float*, int64_t, int64_t, Bfloat16*, float*);
template void add_pieces(const Shape&, const std::vector<float>&, double*);
template void add_pieces(const Shape&, const std::vector<double>&, double*);

}  // namespace larmor::token_norms
