// The GPU's half of projector.cpp. A build without CUDA takes the twin that refuses.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor {

/// volumes [N, D, H, W] and images [N, views, rows, columns] of float32 or float64, geometry
/// [N, views, rays::numbers] float64: all contiguous and on one GPU. The first fills images, the second
/// volumes.
void project_on_gpu(const at::Tensor& volumes, const at::Tensor& geometry, const at::Tensor& images);
void back_project_on_gpu(const at::Tensor& images, const at::Tensor& geometry, const at::Tensor& volumes);

}  // namespace larmor
