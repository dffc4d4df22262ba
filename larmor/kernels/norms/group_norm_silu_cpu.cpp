// Built with flags of its own (CMakeLists.txt). What the marked loops call is always inlined: out of line it
// would be compiled for one CPU only.
#include "larmor/kernels/norms/group_norm_silu_cpu.h"

#include <algorithm>

#include "larmor/kernels/exponential.h"
#include "larmor/kernels/norms/norm_lanes.h"

namespace larmor::group_norms {
namespace {

/// What is rounded to 8 bits needs no more.
template <class Element>
constexpr int exponential_degree = exponentials::Format<NumberOf<Element>>::degree;
template <>
constexpr int exponential_degree<Bfloat16> = 4;

template <class Element, class Number>
LARMOR_EVERY_CPU void add_rows(const Element* input, int64_t rows, int64_t width, Number* __restrict sums) {
  int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    const Element* const x = input + row * width;
    for (int64_t i = 0; i < width; ++i) {
      sums[i] += (load(x[i]) + load(x[i + width])) + (load(x[i + 2 * width]) + load(x[i + 3 * width]));
    }
  }
  for (; row < rows; ++row) {
    const Element* const x = input + row * width;
    for (int64_t i = 0; i < width; ++i) sums[i] += load(x[i]);
  }
}

/// Adds distances from the shift, and their squares.
template <class Element, class Number, class Sum>
LARMOR_EVERY_CPU void add_distances(const Element* input, int64_t rows, int64_t width,
                                    const Number* __restrict shift, Sum* __restrict sums,
                                    Sum* __restrict squares) {
  int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    const Element* const x = input + row * width;
    for (int64_t i = 0; i < width; ++i) {
      const Sum from = shift[i];
      const Sum a = Sum{load(x[i])} - from, b = Sum{load(x[i + width])} - from;
      const Sum c = Sum{load(x[i + 2 * width])} - from, d = Sum{load(x[i + 3 * width])} - from;
      sums[i] += (a + b) + (c + d);
      squares[i] += (a * a + b * b) + (c * c + d * d);
    }
  }
  for (; row < rows; ++row) {
    const Element* const x = input + row * width;
    for (int64_t i = 0; i < width; ++i) {
      const Sum a = Sum{load(x[i])} - Sum{shift[i]};
      sums[i] += a;
      squares[i] += a * a;
    }
  }
}

template <bool activated, class Element, class Number>
LARMOR_EVERY_CPU void normalise_rows(const Element* input, int64_t rows, int64_t width,
                                     const Number* __restrict centre, const Number* __restrict scale,
                                     const Number* __restrict shift, Element* __restrict output) {
  for (int64_t row = 0; row < rows; ++row) {
    const Element* const x = input + row * width;
    Element* const y = output + row * width;
    for (int64_t i = 0; i < width; ++i) {
      const Number value = (load(x[i]) - centre[i]) * scale[i] + shift[i];
      store(y[i], activated ? exponentials::silu<Number, exponential_degree<Element>>(value) : value);
    }
  }
}

/// The gradient of what SiLU is taken of, which with SiLU is stored, too: sums are of what is stored, so that
/// the rounding cancels where their terms do.
template <bool activated, class Element, class Number>
[[gnu::always_inline]] inline Number slope_below(Number distance, Number scale, Number shift, Number slope,
                                                 Element& below) {
  if constexpr (!activated) return slope;
  Element rounded{};
  store(rounded,
        slope * exponentials::silu_slope<Number, exponential_degree<Element>>(distance * scale + shift));
  below = rounded;
  return load(rounded);
}

/// With SiLU, `below` becomes the gradient of what SiLU is taken of. Two rows at a time: the coefficients and
/// sums of lanes are read and written once for both.
template <bool activated, class Element, class Number>
LARMOR_EVERY_CPU void add_gradients(const Element* input, const Element* gradient, int64_t rows,
                                    int64_t width, const Number* __restrict centre,
                                    const Number* __restrict scale, const Number* __restrict shift,
                                    Number* __restrict plain, Number* __restrict centred,
                                    Element* __restrict below) {
  int64_t row = 0;
  for (; row + 2 <= rows; row += 2) {
    const Element* const x = input + row * width;
    const Element* const dy = gradient + row * width;
    Element* const out = below + row * width;
    for (int64_t i = 0; i < width; ++i) {
      const Number a = load(x[i]) - centre[i], b = load(x[i + width]) - centre[i];
      const Number of_a = slope_below<activated>(a, scale[i], shift[i], Number{load(dy[i])}, out[i]);
      const Number of_b =
          slope_below<activated>(b, scale[i], shift[i], Number{load(dy[i + width])}, out[i + width]);
      plain[i] += of_a + of_b;
      centred[i] += of_a * a + of_b * b;
    }
  }
  for (; row < rows; ++row) {
    const Element* const x = input + row * width;
    const Element* const dy = gradient + row * width;
    Element* const out = below + row * width;
    for (int64_t i = 0; i < width; ++i) {
      const Number a = load(x[i]) - centre[i];
      const Number of_a = slope_below<activated>(a, scale[i], shift[i], Number{load(dy[i])}, out[i]);
      plain[i] += of_a;
      centred[i] += of_a * a;
    }
  }
}

/// With SiLU, `of_input` holds the gradient of what SiLU is taken of.
template <bool activated, class Element, class Number>
LARMOR_EVERY_CPU void differentiate_rows(const Element* input, const Element* gradient, int64_t rows,
                                         int64_t width, const Number* __restrict centre,
                                         const Number* __restrict scale, const Number* __restrict slope,
                                         const Number* __restrict offset, Element* __restrict of_input) {
  for (int64_t row = 0; row < rows; ++row) {
    const Element* const x = input + row * width;
    const Element* const dy = gradient + row * width;
    Element* const dx = of_input + row * width;
    for (int64_t i = 0; i < width; ++i) {
      const Number below = load(activated ? dx[i] : dy[i]);
      store(dx[i], scale[i] * below + (slope[i] * (load(x[i]) - centre[i]) + offset[i]));
    }
  }
}

/// The first elements of `lanes` are those of one voxel: the others repeat them.
template <class Number>
void repeat(int64_t columns, std::vector<Number>& lanes) {
  if (columns == 1) {
    std::fill(lanes.begin() + 1, lanes.end(), lanes.front());
  } else {
    for (auto lane = lanes.begin() + columns; lane < lanes.end(); lane += columns)
      std::copy(lanes.begin(), lanes.begin() + columns, lane);
  }
}

/// The sums of one piece after the other, in memory that they share.
template <class Sum, class Element>
class PieceMeter {
 public:
  using Number = NumberOf<Element>;

  PieceMeter(const Shape& shape, const Pieces& pieces)
      : groups_(moments_of_a_piece(shape)),
        width_(pieces.width()),
        shift_(static_cast<size_t>(width_)),
        sums_(shift_.size()),
        distances_(shift_.size()),
        squares_(shift_.size()),
        mean_(static_cast<size_t>(pieces.columns())),
        square_(mean_.size()) {}

  void measure(const Element* input, const Piece& piece, Moments* out) {
    const auto columns = static_cast<int64_t>(mean_.size());
    const auto count = static_cast<double>(piece.elements / columns);
    std::fill(sums_.begin(), sums_.end(), Number{0});
    for_rows(piece, width_, [&](int64_t place, int64_t rows, int64_t width) {
      add_rows(input + place, rows, width, sums_.data());
    });
    fold(sums_, columns, mean_);
    for (size_t i = 0; i < mean_.size(); ++i) shift_[i] = static_cast<Number>(mean_[i] / count);
    repeat(columns, shift_);
    std::fill(distances_.begin(), distances_.end(), Sum{0});
    std::fill(squares_.begin(), squares_.end(), Sum{0});
    for_rows(piece, width_, [&](int64_t place, int64_t rows, int64_t width) {
      add_distances(input + place, rows, width, shift_.data(), distances_.data(), squares_.data());
    });
    fold(distances_, columns, mean_);
    fold(squares_, columns, square_);
    for (size_t i = 0; i < mean_.size(); ++i) {
      const double beside = mean_[i] / count;
      square_[i] = std::max(square_[i] - mean_[i] * beside, 0.0);
      mean_[i] = static_cast<double>(shift_[i]) + beside;
    }
    const size_t of_a_group = mean_.size() / static_cast<size_t>(groups_);
    for (size_t group = 0; group < static_cast<size_t>(groups_); ++group)
      out[group] = moments(group * of_a_group, of_a_group, count);
  }

 private:
  /// Of channels with equally many elements.
  Moments moments(size_t first, size_t channels, double count) const {
    Moments all{.count = count * static_cast<double>(channels), .mean = 0, .squares = 0};
    for (size_t i = first; i < first + channels; ++i) all.mean += mean_[i];
    all.mean /= static_cast<double>(channels);
    for (size_t i = first; i < first + channels; ++i) {
      const double distance = mean_[i] - all.mean;
      all.squares += square_[i] + count * distance * distance;
    }
    return all;
  }

  int64_t groups_, width_;
  std::vector<Number> shift_, sums_;
  std::vector<Sum> distances_, squares_;
  std::vector<double> mean_, square_;
};

}  // namespace

template <class Sum, class Element>
void measure_pieces(const Shape& shape, const Element* input, int64_t first, int64_t end, Moments* partial) {
  const Pieces pieces(shape);
  PieceMeter<Sum, Element> meter(shape, pieces);
  for (int64_t i = first; i < end; ++i)
    meter.measure(input, pieces.at(i), partial + i * moments_of_a_piece(shape));
}

template <class Element>
void normalise_pieces(const Shape& shape, const Coefficients<NumberOf<Element>>& by, const Element* input,
                      int64_t first, int64_t end, Element* output) {
  const Pieces pieces(shape);
  Lanes<NumberOf<Element>> lanes(pieces.width());
  for (int64_t i = first; i < end; ++i) {
    const Piece piece = pieces.at(i);
    lanes.fill(by, piece, pieces.columns(), /*with_gradient=*/false);
    for_rows(piece, pieces.width(), [&](int64_t place, int64_t rows, int64_t width) {
      (shape.activated ? normalise_rows<true, Element, NumberOf<Element>>
                       : normalise_rows<false, Element, NumberOf<Element>>)(input + place, rows, width,
                                                                            lanes.centre(), lanes.scale(),
                                                                            lanes.shift(), output + place);
    });
  }
}

template <class Element>
void sum_gradient_pieces(const Shape& shape, const Coefficients<NumberOf<Element>>& by, const Element* input,
                         const Element* gradient, int64_t first, int64_t end, Element* below,
                         GradientSums* partial) {
  using Number = NumberOf<Element>;
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
      (shape.activated ? add_gradients<true, Element, Number>
                       : add_gradients<false, Element, Number>)(input + place, gradient + place, rows, width,
                                                                lanes.centre(), lanes.scale(), lanes.shift(),
                                                                plain.data(), centred.data(), below + place);
    });
    fold(plain, pieces.columns(), plain_sums);
    fold(centred, pieces.columns(), centred_sums);
    for (size_t column = 0; column < plain_sums.size(); ++column)
      partial[i * pieces.columns() + static_cast<int64_t>(column)] = {plain_sums[column],
                                                                      centred_sums[column]};
  }
}

template <class Element>
void differentiate_pieces(const Shape& shape, const Coefficients<NumberOf<Element>>& by, const Element* input,
                          const Element* gradient, int64_t first, int64_t end, Element* of_input) {
  using Number = NumberOf<Element>;
  const Pieces pieces(shape);
  Lanes<Number> lanes(pieces.width());
  for (int64_t i = first; i < end; ++i) {
    const Piece piece = pieces.at(i);
    lanes.fill(by, piece, pieces.columns(), /*with_gradient=*/true);
    for_rows(piece, pieces.width(), [&](int64_t place, int64_t rows, int64_t width) {
      (shape.activated ? differentiate_rows<true, Element, Number>
                       : differentiate_rows<false, Element, Number>)(input + place, gradient + place, rows,
                                                                     width, lanes.centre(), lanes.scale(),
                                                                     lanes.slope(), lanes.offset(),
                                                                     of_input + place);
    });
  }
}

template void measure_pieces<float>(const Shape&, const float*, int64_t, int64_t, Moments*);
template void normalise_pieces(const Shape&, const Coefficients<float>&, const float*, int64_t, int64_t,
                               float*);
template void sum_gradient_pieces(const Shape&, const Coefficients<float>&, const float*, const float*,
                                  int64_t, int64_t, float*, GradientSums*);
template void differentiate_pieces(const Shape&, const Coefficients<float>&, const float*, const float*,
                                   int64_t, int64_t, float*);
template void measure_pieces<double>(const Shape&, const float*, int64_t, int64_t, Moments*);
template void measure_pieces<double>(const Shape&, const double*, int64_t, int64_t, Moments*);
template void normalise_pieces(const Shape&, const Coefficients<double>&, const double*, int64_t, int64_t,
                               double*);
template void sum_gradient_pieces(const Shape&, const Coefficients<double>&, const double*, const double*,
                                  int64_t, int64_t, double*, GradientSums*);
template void differentiate_pieces(const Shape&, const Coefficients<double>&, const double*, const double*,
                                   int64_t, int64_t, double*);
template void measure_pieces<float>(const Shape&, const Bfloat16*, int64_t, int64_t, Moments*);
template void normalise_pieces(const Shape&, const Coefficients<float>&, const Bfloat16*, int64_t, int64_t,
                               Bfloat16*);
template void sum_gradient_pieces(const Shape&, const Coefficients<float>&, const Bfloat16*, const Bfloat16*,
                                  int64_t, int64_t, Bfloat16*, GradientSums*);
template void differentiate_pieces(const Shape&, const Coefficients<float>&, const Bfloat16*, const Bfloat16*,
                                   int64_t, int64_t, Bfloat16*);

}  // namespace larmor::group_norms
