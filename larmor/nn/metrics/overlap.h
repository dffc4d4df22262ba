// How well the classes of voxels overlap with those of a label map.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace larmor::nn {

/// classes [N, 1, …] with whole numbers, of any type, give [N, count, …], bool: where each class is.
at::Tensor as_one_hot(const at::Tensor& classes, int64_t count);

/// [N, count], float64: 2 |P T| / (|P| + |T|) of the voxels P that are predicted to be of a class and those
/// that are, T, an image each; both [N, 1, …] with whole numbers below `count`. NaN where neither has the
/// class: there is nothing to overlap. A class that the image has not and that is predicted counts as 0,
/// where monai.metrics.DiceMetric leaves it out (ignore_empty). Source: Dice 1945;
/// monai.metrics.compute_dice.
at::Tensor dice(const at::Tensor& predicted, const at::Tensor& truth, int64_t count);

}  // namespace larmor::nn
