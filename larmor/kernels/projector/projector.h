// Digitally reconstructed radiographs: line integrals through volumes, and their exact adjoint, as operators
// of libtorch's dispatcher (larmor::project, larmor::back_project) for CPUs, GPUs and the meta device. Each
// is the other's gradient. Results do not depend on how many threads compute them. Lengths are mm, positions
// those of NIfTI's world: x to the patient's Right, y Anterior, z Superior.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace larmor {

enum class Beam { parallel, cone };

/// An X-ray source and a flat detector that turn about an axis through the isocentre along z. At 0 degrees
/// the beam runs from posterior to anterior (frontal, PA) and the patient's right is on the image's left; at
/// 90 it runs to the patient's right (lateral) and anterior is on the image's right. Row 0 is on top.
struct RadiographView {
  Beam beam = Beam::cone;
  double degrees = 0;
  std::array<int64_t, 2> pixels{512, 512};   // rows, columns
  std::array<double, 2> spacing{0.8, 0.8};   // mm on the detector from row to row, from column to column
  double source_to_isocentre = 1600;         // of a cone
  double source_to_detector = 1800;          // of a cone
  std::array<double, 3> isocentre{0, 0, 0};  // seen by the middle of the detector
};

/// Row-major 4 x 4: index (i, j, k, 1) of a voxel's middle to its position. The indices are those of the
/// tensor's last three axes. The same type as Affine of the layer formats.
using VoxelPositions = std::array<std::array<double, 4>, 4>;

/// How many numbers describe the rays of a view.
constexpr int64_t ray_numbers = 37;

/// The rays of views of one volume: [views, ray_numbers] float64, on the CPU. Throws Error (data): views of
/// different sizes, lengths that are not above 0, a matrix that is singular.
at::Tensor ray_geometry(const std::vector<RadiographView>& views, const VoxelPositions& positions);

/// How far apart neighbouring rays of a view are in mm, from row to row and from column to column, where they
/// pass the middle of a volume of that size. `rays`: [ray_numbers].
std::array<double, 2> ray_spacing(const at::Tensor& rays, std::array<int64_t, 3> size);

/// Line integrals in units of the volume's values times mm, from the source to the middle of each pixel (of a
/// parallel beam: along the whole line), with values between voxels interpolated and zero outside.
/// volume [N, D, H, W] or [N, 1, D, H, W] of any floating type and layout; rays [views, ray_numbers], or
/// [N, views, ray_numbers] where volumes differ in geometry. Gives [N, views, rows, columns]: float64 of a
/// float64 volume and float32 of all others. Differentiable any number of times with respect to the volume.
at::Tensor project(const at::Tensor& volume, const at::Tensor& rays, int64_t rows, int64_t columns);

/// The adjoint of project(): images [N, views, rows, columns] smeared back along their rays, weighted as
/// project() weighs. `size` is that of the volume; gives [N, size…]. It is no reconstruction.
at::Tensor back_project(const at::Tensor& images, const at::Tensor& rays, std::array<int64_t, 3> size);

}  // namespace larmor
