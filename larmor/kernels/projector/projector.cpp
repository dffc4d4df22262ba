#include "larmor/kernels/projector/projector.h"

#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "larmor/base/ensure.h"
#include "larmor/kernels/operator.h"
#include "larmor/kernels/parallel_loop.h"
#include "larmor/kernels/projector/projector_cpu.h"
#include "larmor/kernels/projector/projector_cuda.h"

namespace larmor {
namespace {

using at::Tensor;
using Project =
    Operator<"project", Tensor(const Tensor& volumes, const Tensor& geometry, int64_t rows, int64_t columns)>;
using BackProject =
    Operator<"back_project", Tensor(const Tensor& images, const Tensor& geometry, at::IntArrayRef size)>;

static_assert(ray_numbers == rays::numbers);

void ensure_geometry(const Tensor& numbers, const Tensor& geometry, int64_t volumes) {
  ensure(numbers.scalar_type() == at::kFloat || numbers.scalar_type() == at::kDouble);
  ensure(geometry.dim() == 3 && geometry.size(0) == volumes && geometry.size(2) == ray_numbers &&
         geometry.scalar_type() == at::kDouble);
}

/// [N, views, rows, columns] for volumes [N, D, H, W]; not filled.
Tensor images_for(const Tensor& volumes, const Tensor& geometry, int64_t rows, int64_t columns) {
  ensure(volumes.dim() == 4 && rows > 0 && columns > 0);
  ensure_geometry(volumes, geometry, volumes.size(0));
  return at::empty({volumes.size(0), geometry.size(1), rows, columns}, volumes.options());
}

std::array<int64_t, 4> volumes_for(const Tensor& images, const Tensor& geometry, at::IntArrayRef size) {
  ensure(images.dim() == 4 && size.size() == 3 && geometry.size(1) == images.size(1));
  ensure_geometry(images, geometry, images.size(0));
  return {images.size(0), size[0], size[1], size[2]};
}

Projection projection_of(const Tensor& volumes, const Tensor& geometry, const Tensor& images) {
  return {.grid = {{volumes.size(1), volumes.size(2), volumes.size(3)}},
          .volumes = volumes.size(0),
          .views = images.size(1),
          .rows = images.size(2),
          .columns = images.size(3),
          .geometry = geometry.const_data_ptr<double>()};
}

/// Calls `body` with a zero of the tensor's type, float or double: GCC takes libtorch's macro for a use of
/// what was not initialised.
template <class Body>
void in_type_of(const Tensor& tensor, const Body& body) {
  if (tensor.scalar_type() == at::kDouble) {
    body(double{0});
  } else {
    body(float{0});
  }
}

Tensor project_on_cpu(const Tensor& volumes, const Tensor& geometry, int64_t rows, int64_t columns) {
  const Tensor images = images_for(volumes, geometry, rows, columns);
  const Tensor whole = volumes.contiguous(), numbers = geometry.contiguous();
  const Projection projection = projection_of(whole, numbers, images);
  in_type_of(whole, [&](auto zero) {
    const auto* voxels = whole.const_data_ptr<decltype(zero)>();
    auto* pixels = images.mutable_data_ptr<decltype(zero)>();
    parallel_loop(0, images.numel() / columns, /*grain=*/1,
                  [&](int64_t first, int64_t end) { project_rows(projection, voxels, pixels, first, end); });
  });
  return images;
}

Tensor back_project_on_cpu(const Tensor& images, const Tensor& geometry, at::IntArrayRef size) {
  const Tensor volumes = at::zeros(volumes_for(images, geometry, size), images.options());
  const Tensor whole = images.contiguous(), numbers = geometry.contiguous();
  if (volumes.numel() == 0) return volumes;
  const Projection projection = projection_of(volumes, numbers, whole);
  in_type_of(whole, [&](auto zero) {
    const auto* pixels = whole.const_data_ptr<decltype(zero)>();
    auto* voxels = volumes.mutable_data_ptr<decltype(zero)>();
    // A thread has slices of its own: nobody else writes there, and it adds in one order.
    for (int axis = 0; axis < 3; ++axis) {
      parallel_loop(0, volumes.size(0) * volumes.size(axis + 1), /*grain=*/1,
                    [&](int64_t first, int64_t end) {
                      back_project_slices(projection, pixels, voxels, axis, first, end);
                    });
    }
  });
  return volumes;
}

Tensor project_on_cuda(const Tensor& volumes, const Tensor& geometry, int64_t rows, int64_t columns) {
  const Tensor images = images_for(volumes, geometry, rows, columns);
  project_on_gpu(volumes.contiguous(), geometry.contiguous(), images);
  return images;
}

Tensor back_project_on_cuda(const Tensor& images, const Tensor& geometry, at::IntArrayRef size) {
  const Tensor volumes = at::empty(volumes_for(images, geometry, size), images.options());
  back_project_on_gpu(images.contiguous(), geometry.contiguous(), volumes);
  return volumes;
}

Tensor project_on_meta(const Tensor& volumes, const Tensor& geometry, int64_t rows, int64_t columns) {
  return images_for(volumes, geometry, rows, columns);
}

Tensor back_project_on_meta(const Tensor& images, const Tensor& geometry, at::IntArrayRef size) {
  return at::empty(volumes_for(images, geometry, size), images.options());
}

struct DifferentiableProject : GradientNode<DifferentiableProject> {
  static Tensor forward(Context* context, const Tensor& volumes, const Tensor& geometry, int64_t rows,
                        int64_t columns) {
    context->save_for_backward({geometry});
    context->saved_data["size"] = volumes.sizes().slice(1).vec();
    return Project::call_below_autograd(volumes, geometry, rows, columns);
  }

  static Variables backward(Context* context, const Variables& gradients) {
    return {BackProject::call(gradients[0], context->get_saved_variables()[0],
                              context->saved_data["size"].toIntVector()),
            Tensor(), Tensor(), Tensor()};
  }
};

struct DifferentiableBackProject : GradientNode<DifferentiableBackProject> {
  static Tensor forward(Context* context, const Tensor& images, const Tensor& geometry,
                        at::IntArrayRef size) {
    context->save_for_backward({geometry});
    context->saved_data["rows"] = images.size(2);
    context->saved_data["columns"] = images.size(3);
    return BackProject::call_below_autograd(images, geometry, size);
  }

  static Variables backward(Context* context, const Variables& gradients) {
    return {Project::call(gradients[0], context->get_saved_variables()[0],
                          context->saved_data["rows"].toInt(), context->saved_data["columns"].toInt()),
            Tensor(), Tensor()};
  }
};

Tensor project_with_gradient(const Tensor& volumes, const Tensor& geometry, int64_t rows, int64_t columns) {
  return DifferentiableProject::apply(volumes, geometry, rows, columns);
}

Tensor back_project_with_gradient(const Tensor& images, const Tensor& geometry, at::IntArrayRef size) {
  return DifferentiableBackProject::apply(images, geometry, size);
}

const Project::Registration registered_project(
    "(Tensor volumes, Tensor geometry, int rows, int columns) -> Tensor",
    {.cpu = project_on_cpu,
     .cuda = project_on_cuda,
     .meta = project_on_meta,
     .autograd = project_with_gradient});
const BackProject::Registration registered_back_project(
    "(Tensor images, Tensor geometry, int[] size) -> Tensor", {.cpu = back_project_on_cpu,
                                                               .cuda = back_project_on_cuda,
                                                               .meta = back_project_on_meta,
                                                               .autograd = back_project_with_gradient});

/// Line integrals are sums of many small terms: what has fewer bits than float32 is computed in float32.
Tensor in_full_precision(const Tensor& numbers) {
  return numbers.scalar_type() == at::kDouble ? numbers : numbers.to(at::kFloat);
}

Tensor geometry_of_each(const Tensor& geometry, int64_t volumes) {
  return geometry.dim() == 3 ? geometry : geometry.unsqueeze(0).expand({volumes, -1, -1});
}

}  // namespace

at::Tensor project(const at::Tensor& volume, const at::Tensor& rays, int64_t rows, int64_t columns) {
  const Tensor volumes = in_full_precision(volume.dim() == 5 ? volume.squeeze(1) : volume);
  return Project::call(volumes, geometry_of_each(rays, volumes.size(0)), rows, columns);
}

at::Tensor back_project(const at::Tensor& images, const at::Tensor& rays, std::array<int64_t, 3> size) {
  return BackProject::call(in_full_precision(images), geometry_of_each(rays, images.size(0)), size);
}

}  // namespace larmor
