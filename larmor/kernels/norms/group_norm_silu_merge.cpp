// From the sums of pieces to what channels are normalised by: a few numbers, in double precision, on one
// thread.
#include <algorithm>
#include <cmath>

#include "larmor/kernels/norms/group_norm_silu_cpu.h"

namespace larmor::group_norms {
namespace {

constexpr int64_t least_width = 256, most_piece_elements = 1 << 15;
// A channel of a small volume is a piece of few rows, and what is done once a lane is most of the work then:
// it gets fewer lanes.
constexpr int64_t width_of_small = 64, most_voxels_of_small = 1 << 14;

int64_t least_width_of(const Shape& shape) {
  return !shape.channels_last && shape.voxels <= most_voxels_of_small ? width_of_small : least_width;
}

/// The moments of both together (Chan, Golub and LeVeque, 1979).
void add_moments(Moments& sum, const Moments& more) {
  const double count = sum.count + more.count, distance = more.mean - sum.mean;
  if (count == 0) return;
  sum.mean += distance * (more.count / count);
  sum.squares += more.squares + distance * distance * (sum.count * more.count / count);
  sum.count = count;
}

double weight_of(const Affine& affine, int64_t channel) {
  return affine.weight == nullptr ? 1 : affine.weight[channel];
}

}  // namespace

Pieces::Pieces(const Shape& shape)
    : columns_(shape.channels_last ? shape.channels : 1),
      width_(columns_ *
             std::clamp<int64_t>(least_width_of(shape) / columns_, 1, std::max<int64_t>(shape.voxels, 1))),
      runs_(shape.channels_last ? shape.samples : shape.samples * shape.channels),
      run_elements_(shape.voxels * columns_),
      piece_elements_(std::max<int64_t>(most_piece_elements / width_, 1) * width_),
      per_run_((run_elements_ + piece_elements_ - 1) / piece_elements_) {}

Piece Pieces::at(int64_t index) const {
  const int64_t run = index / per_run_, place = index % per_run_ * piece_elements_;
  return {.first = run * run_elements_ + place,
          .elements = std::min(piece_elements_, run_elements_ - place),
          .channel = run * columns_};
}

int64_t moments_of_a_piece(const Shape& shape) { return shape.channels_last ? shape.groups : 1; }

void merge_moments(const Shape& shape, const std::vector<Moments>& partial, double epsilon, double* mean,
                   double* rstd) {
  const Pieces pieces(shape);
  const int64_t groups = moments_of_a_piece(shape);
  const int64_t of_a_group =
      shape.channels_last ? pieces.per_run() : pieces.per_run() * shape.group_channels();
  for (int64_t group = 0; group < shape.samples * shape.groups; ++group) {
    Moments sum{};
    const int64_t first = shape.channels_last ? group / groups * pieces.per_run() : group * of_a_group;
    for (int64_t i = first; i < first + of_a_group; ++i)
      add_moments(sum, partial[static_cast<size_t>(i * groups + group % groups)]);
    mean[group] = sum.mean;
    rstd[group] = 1 / std::sqrt(sum.squares / std::max(sum.count, 1.0) + epsilon);
  }
}

template <class Number>
Coefficients<Number> forward_coefficients(const Shape& shape, const Affine& affine, const double* mean,
                                          const double* rstd) {
  const auto all = static_cast<size_t>(shape.samples * shape.channels);
  Coefficients<Number> by{std::vector<Number>(all), std::vector<Number>(all), std::vector<Number>(all),
                          std::vector<Number>(all), std::vector<Number>(all)};
  for (size_t i = 0; i < all; ++i) {
    const auto channel = static_cast<int64_t>(i) % shape.channels;
    const auto group = static_cast<int64_t>(i) / shape.group_channels();
    const double scale = rstd[group] * weight_of(affine, channel);
    by.centre[i] = static_cast<Number>(mean[group]);
    // What the rounded mean lacks goes into the shift: next to a large mean it is not small.
    const double lacking = mean[group] - static_cast<double>(by.centre[i]);
    by.scale[i] = static_cast<Number>(scale);
    by.shift[i] = static_cast<Number>((affine.bias == nullptr ? 0 : affine.bias[channel]) - lacking * scale);
  }
  return by;
}

template <class Number>
void merge_gradient_sums(const Shape& shape, const Affine& affine, const std::vector<GradientSums>& partial,
                         const double* mean, const double* rstd, Coefficients<Number>& by, double* of_weight,
                         double* of_bias) {
  const Pieces pieces(shape);
  const auto group_elements = static_cast<double>(std::max<int64_t>(shape.group_elements(), 1));
  std::fill(of_weight, of_weight + shape.channels, 0.0);
  std::fill(of_bias, of_bias + shape.channels, 0.0);
  for (int64_t group = 0; group < shape.samples * shape.groups; ++group) {
    const int64_t begin = group * shape.group_channels(), end = begin + shape.group_channels();
    double plain = 0, normalised = 0, lacking = 0;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t channel = i % shape.channels, run = i / pieces.columns();
      GradientSums sums{};
      for (int64_t piece = run * pieces.per_run(); piece < (run + 1) * pieces.per_run(); ++piece) {
        const auto& more = partial[static_cast<size_t>(piece * pieces.columns() + i % pieces.columns())];
        sums.plain += more.plain;
        sums.centred += more.centred;
      }
      lacking = mean[group] - static_cast<double>(by.centre[static_cast<size_t>(i)]);
      const double of_weight_here = rstd[group] * (sums.centred - lacking * sums.plain);
      of_weight[channel] += of_weight_here;
      of_bias[channel] += sums.plain;
      normalised += weight_of(affine, channel) * of_weight_here;
      plain += weight_of(affine, channel) * sums.plain;
    }
    const double slope = -rstd[group] * rstd[group] * normalised / group_elements;
    const double offset = -rstd[group] * plain / group_elements - slope * lacking;
    std::fill(by.slope.begin() + begin, by.slope.begin() + end, static_cast<Number>(slope));
    std::fill(by.offset.begin() + begin, by.offset.begin() + end, static_cast<Number>(offset));
  }
}

template Coefficients<float> forward_coefficients(const Shape&, const Affine&, const double*, const double*);
template Coefficients<double> forward_coefficients(const Shape&, const Affine&, const double*, const double*);
template void merge_gradient_sums(const Shape&, const Affine&, const std::vector<GradientSums>&,
                                  const double*, const double*, Coefficients<float>&, double*, double*);
template void merge_gradient_sums(const Shape&, const Affine&, const std::vector<GradientSums>&,
                                  const double*, const double*, Coefficients<double>&, double*, double*);

}  // namespace larmor::group_norms
