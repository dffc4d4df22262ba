// The loops of group normalisation on CPUs. No libtorch: stretches of memory and sizes. A tensor is cut into
// pieces whose borders depend on its sizes alone, every sum runs over a piece in one order, and the sums of
// pieces are brought together in one order: threads share pieces, and results have the same bits however many
// there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace larmor::group_norms {

/// The upper half of a float32.
enum class Bfloat16 : uint16_t {};

/// What elements are computed in.
template <class Element>
struct NumberOfElement {
  using Type = float;
};
template <>
struct NumberOfElement<double> {
  using Type = double;
};
template <class Element>
using NumberOf = typename NumberOfElement<Element>::Type;

/// A contiguous tensor [samples, channels, voxels], or [samples, voxels, channels] where channels come last.
struct Shape {
  int64_t samples, channels, voxels, groups;
  bool channels_last, activated;  // by SiLU

  int64_t elements() const { return samples * channels * voxels; }
  int64_t group_channels() const { return channels / groups; }
  int64_t group_elements() const { return group_channels() * voxels; }
};

/// Neighbours in memory, of one channel or of all channels in turn, read as rows of `Pieces::width` lanes.
struct Piece {
  int64_t first, elements;
  int64_t channel;  // index in [samples, channels] of the first element's
};

class Pieces {
 public:
  explicit Pieces(const Shape& shape);
  int64_t count() const { return runs_ * per_run_; }
  Piece at(int64_t index) const;
  /// Lanes of a row; a multiple of columns().
  int64_t width() const { return width_; }
  /// Channels of a piece: after so many lanes they repeat.
  int64_t columns() const { return columns_; }
  /// Pieces of the same channels follow each other.
  int64_t per_run() const { return per_run_; }

 private:
  int64_t columns_, width_, runs_, run_elements_, piece_elements_, per_run_;
};

/// Mean of so many elements, and the sum of the squares of their distances from it.
struct Moments {
  double count, mean, squares;
};

/// What a channel of a sample is normalised by, [samples, channels] each: scale * (x - centre) + shift. The
/// gradient adds slope * (x - centre) + offset.
template <class Number>
struct Coefficients {
  std::vector<Number> centre, scale, shift, slope, offset;
};

/// Sums over the voxels of a channel: sums of the gradient of what SiLU is taken of, and of it times (x -
/// centre).
struct GradientSums {
  double plain, centred;
};

/// Weight and bias [channels], or nullptr for ones and zeros.
struct Affine {
  const double *weight, *bias;
};

/// The sums of pieces [first, end): `partial` [pieces, groups of a piece], where those of one channel have
/// one. Distances from the mean of a piece and their squares are summed in `Sum`.
template <class Sum, class Element>
void measure_pieces(const Shape& shape, const Element* input, int64_t first, int64_t end, Moments* partial);
int64_t moments_of_a_piece(const Shape& shape);

/// mean, rstd: [samples, groups]
void merge_moments(const Shape& shape, const std::vector<Moments>& partial, double epsilon, double* mean,
                   double* rstd);

template <class Number>
Coefficients<Number> forward_coefficients(const Shape& shape, const Affine& affine, const double* mean,
                                          const double* rstd);

template <class Element>
void normalise_pieces(const Shape& shape, const Coefficients<NumberOf<Element>>& by, const Element* input,
                      int64_t first, int64_t end, Element* output);

/// partial [pieces, Pieces::columns]. With SiLU, what lies as the input at `below` becomes the gradient of
/// what SiLU is taken of, rounded to an element.
template <class Element>
void sum_gradient_pieces(const Shape& shape, const Coefficients<NumberOf<Element>>& by, const Element* input,
                         const Element* gradient, int64_t first, int64_t end, Element* below,
                         GradientSums* partial);

/// Fills slope and offset of `by`, and the gradients of weight and bias [channels].
template <class Number>
void merge_gradient_sums(const Shape& shape, const Affine& affine, const std::vector<GradientSums>& partial,
                         const double* mean, const double* rstd, Coefficients<Number>& by, double* of_weight,
                         double* of_bias);

/// The gradient of the input: with SiLU, `of_input` holds what sum_gradient_pieces() gave as `below`, and
/// `gradient` is not read.
template <class Element>
void differentiate_pieces(const Shape& shape, const Coefficients<NumberOf<Element>>& by, const Element* input,
                          const Element* gradient, int64_t first, int64_t end, Element* of_input);

}  // namespace larmor::group_norms
