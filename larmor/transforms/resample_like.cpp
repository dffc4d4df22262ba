#include "larmor/transforms/resample_like.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "larmor/base/error.h"

namespace larmor {

namespace {

// Voxel of the target grid -> voxel of the source volume.
Affine between(const Affine& source, const Affine& target) {
  const auto matrix = [](const Affine& affine) {
    auto tensor = at::empty({4, 4}, at::kDouble);
    for (size_t row = 0; row < 4; ++row)
      std::copy(affine[row].begin(), affine[row].end(), tensor.data_ptr<double>() + row * 4);
    return tensor;
  };
  const auto from = matrix(source);
  require(std::abs(at::linalg_det(from).item<double>()) > 1e-12, Exit::data,
          "the volume's affine cannot be inverted", "larmor inspect shows the affine of a file");
  const auto product = at::linalg_inv(from).matmul(matrix(target)).contiguous();
  Affine result{};
  for (size_t row = 0; row < 4; ++row)
    std::copy_n(product.data_ptr<double>() + row * 4, 4, result[row].begin());
  return result;
}

// One axis of a trilinear sample: the lower neighbour, the distance to the upper one in elements, its weight.
struct Neighbour {
  int64_t lower = 0, step = 0;
  float weight = 0;
};

Neighbour neighbour(double position, int64_t size, int64_t stride) {
  const double inside = std::clamp(position, 0.0, static_cast<double>(size - 1));
  const auto lower = std::min(static_cast<int64_t>(inside), size - 1);
  return {.lower = lower * stride,
          .step = lower + 1 < size ? stride : 0,
          .weight = static_cast<float>(inside - static_cast<double>(lower))};
}

float sample(const float* voxels, const Neighbour& x, const Neighbour& y, const Neighbour& z) {
  const float* corner = voxels + x.lower + y.lower + z.lower;
  const auto along_z = [&](const float* from) { return from[0] + z.weight * (from[z.step] - from[0]); };
  const auto along_y = [&](const float* from) {
    const float near = along_z(from);
    return near + y.weight * (along_z(from + y.step) - near);
  };
  const float near = along_y(corner);
  return near + x.weight * (along_y(corner + x.step) - near);
}

}  // namespace

Volume resample_like(const Volume& volume, const Affine& affine, const std::array<int64_t, 3>& size) {
  const auto source = volume.voxels.to(at::kFloat).contiguous();
  const auto map = between(volume.affine, affine);
  Volume result{.voxels = at::empty({source.size(0), size[0], size[1], size[2]}, at::kFloat),
                .affine = affine};
  auto* out = result.voxels.data_ptr<float>();
  for (int64_t channel = 0; channel < source.size(0); ++channel) {
    const float* voxels = source.const_data_ptr<float>() + channel * source.stride(0);
    for (int64_t i = 0; i < size[0]; ++i) {
      for (int64_t j = 0; j < size[1]; ++j) {
        for (int64_t k = 0; k < size[2]; ++k) {
          const auto at_axis = [&](size_t axis) {
            const auto& row = map[axis];
            const double position = row[0] * static_cast<double>(i) + row[1] * static_cast<double>(j) +
                                    row[2] * static_cast<double>(k) + row[3];
            const auto dimension = static_cast<int64_t>(axis) + 1;
            return neighbour(position, source.size(dimension), source.stride(dimension));
          };
          *out++ = sample(voxels, at_axis(0), at_axis(1), at_axis(2));
        }
      }
    }
  }
  return result;
}

}  // namespace larmor
