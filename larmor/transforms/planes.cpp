#include "larmor/transforms/planes.h"

#include <cassert>

#include <ATen/ATen.h>

namespace larmor {

namespace {
// plane [columns, rows]: columns go to the right; rows go up, so the last one is drawn first.
Image to_image(const at::Tensor& plane, double low, double high) {
  const auto grey =
      ((plane.to(at::kCPU, at::kFloat) - low) / (high - low)).nan_to_num(0).clamp(0, 1).mul(255).round();
  const auto rows = grey.to(at::kByte).transpose(0, 1).flip(0).contiguous();
  const auto* pixels = rows.const_data_ptr<uint8_t>();
  Image image;
  image.width = static_cast<int>(rows.size(1));
  image.height = static_cast<int>(rows.size(0));
  image.pixels.assign(pixels, pixels + rows.numel());
  return image;
}
}  // namespace

Image three_planes(const at::Tensor& volume, double low, double high) {
  assert(volume.dim() == 3);
  const auto middle = [&](int64_t axis) { return volume.select(axis, volume.size(axis) / 2); };
  return beside(
      {to_image(middle(0), low, high), to_image(middle(1), low, high), to_image(middle(2), low, high)});
}

}  // namespace larmor
