#include "larmor/kernels/convolution/column_conv.h"

#include <algorithm>

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <c10/util/BFloat16.h>

#include "larmor/base/ensure.h"
#include "larmor/kernels/convolution/column_conv_cpu.h"
#include "larmor/kernels/parallel_loop.h"

namespace larmor {
namespace conv_columns {
namespace {

using at::Tensor;

// A tile of AMX is 16 rows of 32 numbers in bfloat16, a vector of AVX-512 16 numbers in float32, and kernels
// read two of them at a time.
constexpr int64_t block = 32;
// By sizes alone, so that sums have the same order on any number of threads. Half of a core's second cache.
constexpr int64_t stretch_bytes = 1 << 19;
// At least so many results: each stretch adds once to all of a kernel's numbers.
constexpr int64_t fewest_results = 512;

int64_t in_blocks(int64_t count) { return (count + block - 1) / block * block; }

Tensor channels_last(const Tensor& volumes) { return volumes.contiguous(at::MemoryFormat::ChannelsLast3d); }

/// Channels last as [voxels, channels]; borrows its numbers.
Tensor voxels_of(const Tensor& volumes) {
  return volumes.permute({0, 2, 3, 4, 1}).reshape({-1, volumes.size(1)});
}

Tensor empty_volumes(at::IntArrayRef sizes, const at::TensorOptions& options) {
  return at::empty(sizes, options.memory_format(at::MemoryFormat::ChannelsLast3d));
}

class Columns {
 public:
  Columns(const Tensor& volumes, const Tensor& kernel, const PerAxis& stride, const PerAxis& padding)
      : volumes_(channels_last(volumes)),
        out_(kernel.size(0)),
        plain_(volumes.options().memory_format(at::MemoryFormat::Contiguous)) {
    ensure(volumes.is_cpu() && volumes.scalar_type() == kernel.scalar_type() && is_read(volumes));
    shape_ = {.samples = volumes.size(0), .channels = volumes.size(1), .stride = stride, .padding = padding};
    for (std::size_t i = 0; i < stride.size(); ++i) {
      const auto axis = static_cast<int64_t>(i) + 2;
      shape_.image[i] = volumes.size(axis);
      shape_.kernel[i] = kernel.size(axis);
      const int64_t room = shape_.image[i] + 2 * padding[i] - shape_.kernel[i];
      shape_.result[i] = room < 0 ? 0 : room / stride[i] + 1;
    }
    pitch_ = in_blocks(shape_.taps() + 1);
    const int64_t results = std::max(fewest_results, stretch_bytes / (pitch_ * volumes.element_size()));
    rows_ = std::max<int64_t>(1, results / std::max<int64_t>(1, shape_.row_length()));
  }

  at::IntArrayRef result_sizes() {
    sizes_ = {shape_.samples, out_, shape_.result[0], shape_.result[1], shape_.result[2]};
    return sizes_;
  }
  const Tensor& volumes() const { return volumes_; }
  int64_t taps() const { return shape_.taps(); }
  const at::TensorOptions& options() const { return plain_; }

  /// The kernel and the bias as a matrix [results, columns], in blocks.
  Tensor kernel_matrix(const Tensor& kernel, const Tensor& bias) const {
    Tensor matrix = at::zeros({in_blocks(out_), pitch_}, plain_);
    matrix.narrow(0, 0, out_)
        .narrow(1, 0, taps())
        .copy_(kernel.permute({0, 2, 3, 4, 1}).reshape({out_, taps()}));
    if (bias.defined()) matrix.narrow(0, 0, out_).select(1, taps()).copy_(bias);
    return matrix;
  }

  /// The gradient of such a matrix as that of a kernel.
  Tensor kernel_of(const Tensor& matrix) const {
    const auto& axes = shape_.kernel;
    return matrix.narrow(0, 0, out_)
        .narrow(1, 0, taps())
        .reshape({out_, axes[0], axes[1], axes[2], shape_.channels})
        .permute({0, 4, 1, 2, 3})
        .contiguous();
  }

  /// Calls body(stretch, first result, end of results) for one stretch of rows after the other.
  template <class Body>
  void for_each_stretch(const Body& body) const {
    for (int64_t first = 0; first < shape_.rows(); first += rows_) {
      const int64_t end = std::min(first + rows_, shape_.rows());
      body(Stretch{first, end, pitch_}, first * shape_.row_length(), end * shape_.row_length());
    }
  }

  /// [results in blocks, columns]
  Tensor gathered(const Stretch& stretch) const {
    const int64_t results = (stretch.end - stretch.first) * shape_.row_length();
    Tensor matrix = at::empty({in_blocks(results), pitch_}, plain_);
    matrix.narrow(0, results, matrix.size(0) - results).zero_();
    volumes_.scalar_type() == at::kFloat ? gather_into<float>(stretch, matrix)
                                         : gather_into<Bfloat16>(stretch, matrix);
    return matrix;
  }

  /// Results from `first` until before `end` of [results, channels], in blocks of both.
  Tensor in_whole_blocks(const Tensor& results, int64_t first, int64_t end) const {
    Tensor matrix = at::zeros({in_blocks(end - first), in_blocks(out_)}, plain_);
    matrix.narrow(0, 0, end - first).narrow(1, 0, out_).copy_(results.narrow(0, first, end - first));
    return matrix;
  }

  void add_scattered(const Stretch& stretch, const Tensor& matrix, const Tensor& sums) const {
    volumes_.scalar_type() == at::kFloat ? scatter_from<float>(stretch, matrix, sums)
                                         : scatter_from<Bfloat16>(stretch, matrix, sums);
  }

 private:
  static bool is_read(const Tensor& volumes) {
    return volumes.scalar_type() == at::kFloat || volumes.scalar_type() == at::kBFloat16;
  }

  template <class Element>
  void gather_into(const Stretch& stretch, const Tensor& matrix) const {
    const auto* const from = static_cast<const Element*>(volumes_.const_data_ptr());
    auto* const to = static_cast<Element*>(matrix.mutable_data_ptr());
    parallel_loop(stretch.first, stretch.end, /*grain=*/4,
                  [&](int64_t first, int64_t end) { gather(shape_, stretch, from, first, end, to); });
  }

  /// Only rows of the image that the stretch's results see.
  template <class Element>
  void scatter_from(const Stretch& stretch, const Tensor& matrix, const Tensor& sums) const {
    const auto* const from = static_cast<const Element*>(matrix.const_data_ptr());
    auto* const to = sums.mutable_data_ptr<float>();
    const int64_t height = shape_.image[1];
    const auto plane_of = [&](int64_t row, int64_t tap) {
      const int64_t rows_a_sample = shape_.result[0] * shape_.result[1];
      const int64_t depth = row % rows_a_sample / shape_.result[1];
      const int64_t plane = depth * shape_.stride[0] - shape_.padding[0] + tap;
      return row / rows_a_sample * shape_.image[0] + std::clamp<int64_t>(plane, 0, shape_.image[0] - 1);
    };
    const int64_t first_plane = plane_of(stretch.first, 0),
                  last_plane = plane_of(stretch.end - 1, shape_.kernel[0] - 1);
    parallel_loop(first_plane * height, (last_plane + 1) * height, /*grain=*/4,
                  [&](int64_t first, int64_t end) { scatter(shape_, stretch, from, first, end, to); });
  }

  Tensor volumes_;
  int64_t out_;
  at::TensorOptions plain_;
  Shape shape_{};
  int64_t pitch_ = 0, rows_ = 0;  // of a matrix; of results in a stretch
  std::array<int64_t, 5> sizes_{};
};

}  // namespace
}  // namespace conv_columns

using at::Tensor;

Tensor column_conv(const Tensor& volumes, const Tensor& kernel, const Tensor& bias,
                   const std::array<int64_t, 3>& stride, const std::array<int64_t, 3>& padding) {
  using namespace conv_columns;
  Columns columns(volumes, kernel, stride, padding);
  Tensor result = empty_volumes(columns.result_sizes(), volumes.options());
  const Tensor results = voxels_of(result), weights = columns.kernel_matrix(kernel, bias).t();
  columns.for_each_stretch([&](const Stretch& stretch, int64_t first, int64_t end) {
    const Tensor product = at::mm(columns.gathered(stretch), weights);
    results.narrow(0, first, end - first)
        .copy_(product.narrow(0, 0, end - first).narrow(1, 0, kernel.size(0)));
  });
  return result;
}

std::tuple<Tensor, Tensor, Tensor> column_conv_gradients(const Tensor& gradient, const Tensor& volumes,
                                                         const Tensor& kernel,
                                                         const std::array<int64_t, 3>& stride,
                                                         const std::array<int64_t, 3>& padding,
                                                         const std::array<bool, 3>& wanted) {
  using namespace conv_columns;
  Columns columns(volumes, kernel, stride, padding);
  const Tensor slopes = voxels_of(channels_last(gradient)), weights = columns.kernel_matrix(kernel, Tensor());
  const auto in_float = columns.options().dtype(at::kFloat);
  Tensor of_weights = at::zeros(weights.sizes(), in_float);
  Tensor of_voxels = wanted[0] ? at::zeros(voxels_of(columns.volumes()).sizes(), in_float) : Tensor();
  columns.for_each_stretch([&](const Stretch& stretch, int64_t first, int64_t end) {
    const Tensor part = columns.in_whole_blocks(slopes, first, end);
    if (wanted[1]) of_weights.add_(at::mm(part.t(), columns.gathered(stretch)));
    if (wanted[0]) columns.add_scattered(stretch, at::mm(part, weights), of_voxels);
  });
  const auto type = volumes.scalar_type();
  Tensor of_volumes, of_kernel, of_bias;
  // A product would round the sum of each stretch, and slopes of both signs leave little of large sums.
  if (wanted[2]) of_bias = slopes.sum(0, /*keepdim=*/false, at::kDouble).to(type);
  if (wanted[0]) {
    of_volumes = empty_volumes(volumes.sizes(), volumes.options());
    voxels_of(of_volumes).copy_(of_voxels);
  }
  if (wanted[1]) of_kernel = columns.kernel_of(of_weights.to(type));
  return {of_volumes, of_kernel, of_bias};
}

Tensor plain_column_conv(const Tensor& volumes, const Tensor& kernel, const Tensor& bias,
                         const std::array<int64_t, 3>& stride, const std::array<int64_t, 3>& padding) {
  const auto [depth, height, width] = padding;
  Tensor windows = at::constant_pad_nd(volumes, {width, width, height, height, depth, depth});
  for (int64_t axis = 0; axis < 3; ++axis)
    windows = windows.unfold(axis + 2, kernel.size(axis + 2), stride[static_cast<std::size_t>(axis)]);
  windows = windows.permute({0, 2, 3, 4, 5, 6, 7, 1}).flatten(4);
  return at::linear(windows, kernel.permute({0, 2, 3, 4, 1}).flatten(1), bias).permute({0, 4, 1, 2, 3});
}

}  // namespace larmor
