// From boxes to the parts of a feature map that they cover.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor::xray_vqa {

/// Which objects of [N, O] a network looks at: those that are there, and where a radiograph has none, the
/// first one, which then stands for all of the picture.
at::Tensor looked_at(const at::Tensor& objects_mask);

/// The mean of map [N, C, H, W] over each box of boxes [N, O, 4], x1 y1 x2 y2 in [0, 1]: [N, O, C]. A box
/// covers the cells from int(x1 W) to int(x2 W), at least one; the first of a radiograph without boxes all of
/// them. Zero for objects that are not there. As a product of matrices, so that no box is looked at on the
/// host.
at::Tensor pool_regions(const at::Tensor& map, const at::Tensor& boxes, const at::Tensor& objects_mask);

/// The mean of tokens [N, L, C] over those that are true in mask [N, L]: [N, C]; zero where none is.
at::Tensor masked_mean(const at::Tensor& tokens, const at::Tensor& mask);

}  // namespace larmor::xray_vqa
