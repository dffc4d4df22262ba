#include "workloads/xray_to_ct/data/radiograph_file.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/pictures/picture_reading.h"
#include "larmor/formats/volume.h"

namespace larmor::xray_to_ct {

at::Tensor radiograph_of(const at::Tensor& voxels) {
  if (voxels.dim() != 4 || voxels.size(3) != 1 || voxels.size(1) < 2 || voxels.size(2) < 2) {
    fail(Exit::data, "is no radiograph: it is not flat",
         "give an image of rows and columns: PNG, JPEG, DICOM, .npy or a NIfTI file of one plane");
  }
  at::Tensor image = voxels.select(3, 0).to(at::kFloat).mean(0).t().contiguous();
  const double least = image.min().item<double>();
  if (least < 0) image = image - least;
  const double most = image.max().item<double>();
  if (most <= 1) return image;
  const int bits = std::max(8, static_cast<int>(std::ceil(std::log2(most + 1))));
  return image / (std::exp2(bits) - 1);
}

at::Tensor fitted_radiograph(const at::Tensor& image, int64_t size, bool flip_vertical) {
  const int64_t rows = image.size(0), columns = image.size(1), edge = std::max(rows, columns);
  at::Tensor square = flip_vertical ? image.flip({0}) : image;
  if (rows != columns) {
    const int64_t above = (edge - rows) / 2, beside = (edge - columns) / 2;
    square = at::constant_pad_nd(square, {beside, edge - columns - beside, above, edge - rows - above}, 0);
  }
  if (edge != size) {
    const at::Tensor batch = square.view({1, 1, edge, edge});
    square = edge > size ? at::_upsample_bilinear2d_aa(batch, {size, size}, /*align_corners=*/false)
                         : at::upsample_bilinear2d(batch, {size, size}, /*align_corners=*/false);
    square = square.view({size, size});
  }
  return square * 2 - 1;
}

at::Tensor read_radiograph(const std::filesystem::path& path) {
  const Volume file = read_volume(path, {.grey = true});
  const std::string suffix = lower(path.extension().string());
  const bool is_array = suffix == ".npy" || suffix == ".npz";
  try {
    return radiograph_of(is_array ? file.voxels.transpose(1, 2) : file.voxels);
  } catch (const Error& error) {
    throw error.within(path.string());
  }
}

}  // namespace larmor::xray_to_ct
