// From the loader's batch to the one that a device computes on.
#pragma once

#include <c10/core/Device.h>

#include "larmor/data/dataset.h"
#include "larmor/device/draw_position.h"
#include "larmor/plan/plan.h"

namespace larmor {

/// Copies to the device; floating-point tensors become float64 when the precision says so. Mixed precision
/// leaves them float32: autocast chooses per operator.
Batch to_device(Batch batch, c10::Device device, Precision precision);

/// The draw position of a batch's rows.
DrawPosition draw_position_of(const Batch& batch);

}  // namespace larmor
