// From the loader's batch to the one that a device computes on.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "larmor/data/dataset.h"
#include "larmor/device/draw_position.h"
#include "larmor/plan/kinds.h"

namespace larmor {

/// Floating-point tensors become float64 when the precision says so. Mixed precision leaves them float32:
/// autocast chooses per operator.
c10::ScalarType type_on_device(const at::Tensor& tensor, Precision precision);
/// Copies to the device, in those types. Batches of training and of validation go by BatchFeed.
Batch to_device(Batch batch, c10::Device device, Precision precision);

/// The draw position of a batch's rows.
DrawPosition draw_position_of(const Batch& batch);

}  // namespace larmor
