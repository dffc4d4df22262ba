// Built with flags of its own (CMakeLists.txt). What the marked loops call is always inlined: out of line it
// would be compiled for one CPU only.
#include "larmor/kernels/norms/batch_norm_relu_cpu.h"

#include <algorithm>
#include <cmath>

#include "larmor/kernels/norms/norm_lanes.h"

namespace larmor::batch_norms {

using group_norms::fold;
using group_norms::for_rows;
using group_norms::Lanes;
using group_norms::load;
using group_norms::Piece;
using group_norms::store;

namespace {

template <bool activated, bool adds, class Element, class Number>
LARMOR_EVERY_CPU void normalise_rows(const Element* input, const Element* added, int64_t rows, int64_t width,
                                     const Number* __restrict centre, const Number* __restrict scale,
                                     const Number* __restrict shift, Element* __restrict output) {
  for (int64_t row = 0; row < rows; ++row) {
    const Element* const x = input + row * width;
    const Element* const more = added + row * width;
    Element* const y = output + row * width;
    for (int64_t i = 0; i < width; ++i) {
      Number value = (load(x[i]) - centre[i]) * scale[i] + shift[i];
      if constexpr (adds) value += load(more[i]);
      if constexpr (activated) value = value < 0 ? Number{0} : value;
      store(y[i], value);
    }
  }
}

template <Gate gate, class Number>
[[gnu::always_inline]] inline Number let_through(Number gradient, Number value) {
  if constexpr (gate == Gate::open) return gradient;
  return value <= 0 ? Number{0} : gradient;
}

template <Gate gate, class Element, class Number>
LARMOR_EVERY_CPU void add_gradients(const Element* input, const Element* gradient, const Element* output,
                                    int64_t rows, int64_t width, const Number* __restrict centre,
                                    const Number* __restrict scale, const Number* __restrict shift,
                                    Number* __restrict plain, Number* __restrict centred,
                                    Element* __restrict below) {
  for (int64_t row = 0; row < rows; ++row) {
    const Element* const x = input + row * width;
    const Element* const dy = gradient + row * width;
    for (int64_t i = 0; i < width; ++i) {
      const Number distance = load(x[i]) - centre[i];
      Number slope = load(dy[i]);
      if constexpr (gate == Gate::output) {
        slope = let_through<gate>(slope, Number{load(output[row * width + i])});
        store(below[row * width + i], slope);
      } else {
        slope = let_through<gate>(slope, distance * scale[i] + shift[i]);
      }
      plain[i] += slope;
      centred[i] += slope * distance;
    }
  }
}

template <Gate gate, class Element, class Number>
LARMOR_EVERY_CPU void differentiate_rows(const Element* input, const Element* gradient, int64_t rows,
                                         int64_t width, const Number* __restrict centre,
                                         const Number* __restrict scale, const Number* __restrict shift,
                                         const Number* __restrict slope, const Number* __restrict offset,
                                         Element* __restrict of_input) {
  for (int64_t row = 0; row < rows; ++row) {
    const Element* const x = input + row * width;
    const Element* const dy = gradient + row * width;
    Element* const dx = of_input + row * width;
    for (int64_t i = 0; i < width; ++i) {
      const Number distance = load(x[i]) - centre[i];
      const Number below = let_through<gate>(Number{load(dy[i])}, distance * scale[i] + shift[i]);
      store(dx[i], scale[i] * below + (slope[i] * distance + offset[i]));
    }
  }
}

/// The moments of both together (Chan, Golub and LeVeque, 1979).
void add_moments(Moments& sum, const Moments& more) {
  const double count = sum.count + more.count, distance = more.mean - sum.mean;
  if (count == 0) return;
  sum.mean += distance * (more.count / count);
  sum.squares += more.squares + distance * distance * (sum.count * more.count / count);
  sum.count = count;
}

/// Calls visit(place in what pieces have found) for the pieces that hold a channel, in their order.
template <class Visit>
void for_pieces_of(const Shape& shape, int64_t channel, const Visit& visit) {
  const Pieces pieces(shape);
  for (int64_t sample = 0; sample < shape.samples; ++sample) {
    const int64_t run = shape.channels_last ? sample : sample * shape.channels + channel;
    const int64_t column = shape.channels_last ? channel : 0;
    for (int64_t piece = run * pieces.per_run(); piece < (run + 1) * pieces.per_run(); ++piece)
      visit(static_cast<size_t>(piece * pieces.columns() + column));
  }
}

}  // namespace

Shape shape_of(int64_t samples, int64_t channels, int64_t voxels, bool channels_last) {
  return {.samples = channels_last ? 1 : samples,
          .channels = channels,
          .voxels = channels_last ? samples * voxels : voxels,
          .groups = channels,
          .channels_last = channels_last,
          .activated = false};
}

void merge_moments(const Shape& shape, const std::vector<Moments>& partial, double* mean, double* variance) {
  for (int64_t channel = 0; channel < shape.channels; ++channel) {
    Moments sum{};
    for_pieces_of(shape, channel, [&](size_t place) { add_moments(sum, partial[place]); });
    mean[channel] = sum.mean;
    variance[channel] = sum.squares / std::max(sum.count, 1.0);
  }
}

template <class Number>
Coefficients<Number> coefficients(const Shape& shape, const Channels& channels, const double* means) {
  const auto all = static_cast<size_t>(std::max<int64_t>(shape.samples, 1) * shape.channels);
  Coefficients<Number> by{std::vector<Number>(all), std::vector<Number>(all), std::vector<Number>(all),
                          std::vector<Number>(all), std::vector<Number>(all)};
  for (size_t i = 0; i < all; ++i) {
    const int64_t channel = static_cast<int64_t>(i) % shape.channels;
    const double rstd = 1 / std::sqrt(channels.variance[channel] + channels.epsilon);
    const double scale = channels.weight[channel] * rstd;
    by.centre[i] = static_cast<Number>(channels.mean[channel]);
    by.scale[i] = static_cast<Number>(scale);
    // What the rounded mean lacks goes into the shift: next to a large mean it is not small.
    const double lacking = channels.mean[channel] - static_cast<double>(by.centre[i]);
    by.shift[i] = static_cast<Number>(channels.bias[channel] - lacking * scale);
    if (means == nullptr) continue;
    const double slope = -scale * rstd * means[channel];
    by.slope[i] = static_cast<Number>(slope);
    by.offset[i] = static_cast<Number>(-scale * means[shape.channels + channel] - slope * lacking);
  }
  return by;
}

template <class Element>
void normalise_pieces(const Shape& shape, const Coefficients<NumberOf<Element>>& by, const Element* input,
                      const Element* added, bool activated, int64_t first, int64_t end, Element* output) {
  using Number = NumberOf<Element>;
  const auto run = added == nullptr ? (activated ? normalise_rows<true, false, Element, Number>
                                                 : normalise_rows<false, false, Element, Number>)
                                    : (activated ? normalise_rows<true, true, Element, Number>
                                                 : normalise_rows<false, true, Element, Number>);
  const Pieces pieces(shape);
  Lanes<Number> lanes(pieces.width());
  // From the end: what the pass before has read last is still in the cache.
  for (int64_t i = end; i-- > first;) {
    const Piece piece = pieces.at(i);
    lanes.fill(by, piece, pieces.columns(), /*with_gradient=*/false);
    for_rows(piece, pieces.width(), [&](int64_t place, int64_t rows, int64_t width) {
      // Without a tensor to add, its place is not read.
      run(input + place, added == nullptr ? input : added + place, rows, width, lanes.centre(), lanes.scale(),
          lanes.shift(), output + place);
    });
  }
}

template <class Element>
void sum_gradient_pieces(const Shape& shape, const Coefficients<NumberOf<Element>>& by, Gate gate,
                         const Element* input, const Element* gradient, const Element* output, int64_t first,
                         int64_t end, Element* below, GradientSums* partial) {
  using Number = NumberOf<Element>;
  const auto run = gate == Gate::open     ? add_gradients<Gate::open, Element, Number>
                   : gate == Gate::output ? add_gradients<Gate::output, Element, Number>
                                          : add_gradients<Gate::input, Element, Number>;
  const Pieces pieces(shape);
  Lanes<Number> lanes(pieces.width());
  std::vector<Number> plain(static_cast<size_t>(pieces.width())), centred(plain.size());
  std::vector<double> plain_sums(static_cast<size_t>(pieces.columns())), centred_sums(plain_sums.size());
  for (int64_t i = first; i < end; ++i) {
    const Piece piece = pieces.at(i);
    lanes.fill(by, piece, pieces.columns(), /*with_gradient=*/false);
    std::fill(plain.begin(), plain.end(), Number{0});
    std::fill(centred.begin(), centred.end(), Number{0});
    for_rows(piece, pieces.width(), [&](int64_t place, int64_t rows, int64_t width) {
      const bool by_output = gate == Gate::output;
      run(input + place, gradient + place, by_output ? output + place : nullptr, rows, width, lanes.centre(),
          lanes.scale(), lanes.shift(), plain.data(), centred.data(), by_output ? below + place : nullptr);
    });
    fold(plain, pieces.columns(), plain_sums);
    fold(centred, pieces.columns(), centred_sums);
    for (size_t column = 0; column < plain_sums.size(); ++column)
      partial[i * pieces.columns() + static_cast<int64_t>(column)] = {plain_sums[column],
                                                                      centred_sums[column]};
  }
}

void merge_gradient_sums(const Shape& shape, const Channels& channels,
                         const std::vector<GradientSums>& partial, const std::vector<double>& centre,
                         double* sums) {
  for (int64_t channel = 0; channel < shape.channels; ++channel) {
    GradientSums all{};
    for_pieces_of(shape, channel, [&](size_t place) {
      all.plain += partial[place].plain;
      all.centred += partial[place].centred;
    });
    const double lacking = channels.mean[channel] - centre[static_cast<size_t>(channel)];
    const double rstd = 1 / std::sqrt(channels.variance[channel] + channels.epsilon);
    sums[channel] = rstd * (all.centred - lacking * all.plain);
    sums[shape.channels + channel] = all.plain;
  }
}

template <class Element>
void differentiate_pieces(const Shape& shape, const Coefficients<NumberOf<Element>>& by, Gate gate,
                          const Element* input, const Element* gradient, int64_t first, int64_t end,
                          Element* of_input) {
  using Number = NumberOf<Element>;
  const auto run = gate == Gate::open ? differentiate_rows<Gate::open, Element, Number>
                                      : differentiate_rows<Gate::input, Element, Number>;
  const Pieces pieces(shape);
  Lanes<Number> lanes(pieces.width());
  // From the end: what the pass before has read last is still in the cache.
  for (int64_t i = end; i-- > first;) {
    const Piece piece = pieces.at(i);
    lanes.fill(by, piece, pieces.columns(), /*with_gradient=*/true);
    for_rows(piece, pieces.width(), [&](int64_t place, int64_t rows, int64_t width) {
      run(input + place, gradient + place, rows, width, lanes.centre(), lanes.scale(), lanes.shift(),
          lanes.slope(), lanes.offset(), of_input + place);
    });
  }
}

template Coefficients<float> coefficients(const Shape&, const Channels&, const double*);
template Coefficients<double> coefficients(const Shape&, const Channels&, const double*);
template void normalise_pieces(const Shape&, const Coefficients<double>&, const float*, const float*, bool,
                               int64_t, int64_t, float*);
template void normalise_pieces(const Shape&, const Coefficients<double>&, const double*, const double*, bool,
                               int64_t, int64_t, double*);
template void normalise_pieces(const Shape&, const Coefficients<float>&, const Bfloat16*, const Bfloat16*,
                               bool, int64_t, int64_t, Bfloat16*);
template void sum_gradient_pieces(const Shape&, const Coefficients<double>&, Gate, const float*, const float*,
                                  const float*, int64_t, int64_t, float*, GradientSums*);
template void sum_gradient_pieces(const Shape&, const Coefficients<double>&, Gate, const double*,
                                  const double*, const double*, int64_t, int64_t, double*, GradientSums*);
template void sum_gradient_pieces(const Shape&, const Coefficients<float>&, Gate, const Bfloat16*,
                                  const Bfloat16*, const Bfloat16*, int64_t, int64_t, Bfloat16*,
                                  GradientSums*);
template void differentiate_pieces(const Shape&, const Coefficients<double>&, Gate, const float*,
                                   const float*, int64_t, int64_t, float*);
template void differentiate_pieces(const Shape&, const Coefficients<double>&, Gate, const double*,
                                   const double*, int64_t, int64_t, double*);
template void differentiate_pieces(const Shape&, const Coefficients<float>&, Gate, const Bfloat16*,
                                   const Bfloat16*, int64_t, int64_t, Bfloat16*);

}  // namespace larmor::batch_norms
