// A volume without any network: radiographs smeared back along their rays.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor::xray_to_ct {

/// radiographs [V, rows, columns] and rays [V, ray_numbers] to a volume like `truth`, [D, H, W] in [-1, 1].
/// Plain back-projection: each view gives a voxel the mean of its radiograph where the voxel's rays meet it.
/// The views and a constant are then weighted by least squares against the truth itself, so that this is the
/// best that any weights could make of them.
at::Tensor back_projected(const at::Tensor& radiographs, const at::Tensor& rays, const at::Tensor& truth);

}  // namespace larmor::xray_to_ct
