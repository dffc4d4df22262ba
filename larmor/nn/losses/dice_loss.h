// Losses of segmentation: how far the classes of a network are from overlapping those of a label map.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor::nn {

/// MONAI's names; its defaults but for softmax and to_onehot_y, which are on here.
struct DiceOptions {
  bool include_background = true;  // class 0
  bool squared_pred = false;       // the sums below the line are of squares
  double smooth_nr = 1e-5, smooth_dr = 1e-5;
  /// Sums over the whole batch before the ratio, where it is otherwise one an image. Such a loss depends on
  /// how a global batch is divided into micro-batches.
  bool batch = false;
};

/// logits [N, C, D, H, W] or with other axes of space, classes [N, 1, D, H, W] with whole numbers from 0 to
/// C - 1, of any type: 1 - (2 |P T| + smooth_nr) / (|P| + |T| + smooth_dr), the mean over images and classes,
/// of the softmax P and the voxels T of a class. Half precision is summed in float32. Requires: C is at least
/// 2 where the background is left out. Source: Milletari et al. 2016;
/// monai.losses.DiceLoss(softmax=True, to_onehot_y=True).
at::Tensor dice_loss(const at::Tensor& logits, const at::Tensor& classes, const DiceOptions& options = {});

struct DiceCrossEntropyOptions {
  DiceOptions dice = {};
  double lambda_dice = 1, lambda_ce = 1;
};
/// Both losses of the same logits, weighted and added; the cross entropy is of all classes.
/// Source: monai.losses.DiceCELoss(softmax=True, to_onehot_y=True).
at::Tensor dice_cross_entropy_loss(const at::Tensor& logits, const at::Tensor& classes,
                                   const DiceCrossEntropyOptions& options = {});

}  // namespace larmor::nn
