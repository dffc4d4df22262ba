// Forward: a thread a pixel, its slices in order. Adjoint: a thread a voxel, which looks for the rays that
// pass by it and adds them by view, row and column: no atomic additions, hence the same bits on every run.
// Built without fused multiplications and additions (CMakeLists.txt), so that both weigh alike.
#include <algorithm>

#include <ATen/Dispatch.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include "larmor/kernels/projector/projector_cuda.h"
#include "larmor/kernels/projector/projector_voxel.h"

namespace larmor {
namespace {

constexpr int threads = 128;

template <class Number>
__global__ void project_pixels(Projection of, const Number* volumes, Number* images) {
  const int64_t pixels = of.volumes * of.views * of.rows * of.columns;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < pixels; i += step) {
    const int64_t column = i % of.columns, row = i / of.columns % of.rows;
    const int64_t view = i / of.columns / of.rows % of.views, volume = i / of.columns / of.rows / of.views;
    const rays::Ray ray = rays::make_ray(of.view(volume, view), row, column, of.grid);
    images[i] = rays::integral(volumes + volume * of.voxels(), ray, of.grid,
                               static_cast<Number>(__dsqrt_rn(ray.mm_per_slice_squared)));
  }
}

struct DeviceRoot {
  __device__ double operator()(double square) const { return __dsqrt_rn(square); }
};

template <class Number>
__global__ void back_project_voxels(Projection of, const Number* images, Number* volumes) {
  const int64_t all = of.volumes * of.voxels();
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < all; i += step)
    volumes[i] = rays::voxel_sum(of, images, i, DeviceRoot());
}

Projection projection_of(const at::Tensor& volumes, const at::Tensor& geometry, const at::Tensor& images) {
  return {.grid = {{volumes.size(1), volumes.size(2), volumes.size(3)}},
          .volumes = volumes.size(0),
          .views = images.size(1),
          .rows = images.size(2),
          .columns = images.size(3),
          .geometry = geometry.const_data_ptr<double>()};
}

unsigned blocks_for(int64_t elements) {
  return static_cast<unsigned>(std::clamp<int64_t>((elements + threads - 1) / threads, 1, 1 << 20));
}

}  // namespace

void project_on_gpu(const at::Tensor& volumes, const at::Tensor& geometry, const at::Tensor& images) {
  if (images.numel() == 0) return;
  const c10::cuda::CUDAGuard guard(volumes.device());
  AT_DISPATCH_FLOATING_TYPES(volumes.scalar_type(), "project", [&] {
    project_pixels<<<blocks_for(images.numel()), threads, 0, at::cuda::getCurrentCUDAStream()>>>(
        projection_of(volumes, geometry, images), volumes.const_data_ptr<scalar_t>(),
        images.mutable_data_ptr<scalar_t>());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

void back_project_on_gpu(const at::Tensor& images, const at::Tensor& geometry, const at::Tensor& volumes) {
  if (volumes.numel() == 0) return;
  const c10::cuda::CUDAGuard guard(volumes.device());
  AT_DISPATCH_FLOATING_TYPES(volumes.scalar_type(), "back_project", [&] {
    back_project_voxels<<<blocks_for(volumes.numel()), threads, 0, at::cuda::getCurrentCUDAStream()>>>(
        projection_of(volumes, geometry, images), images.const_data_ptr<scalar_t>(),
        volumes.mutable_data_ptr<scalar_t>());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace larmor
