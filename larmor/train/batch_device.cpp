#include "larmor/train/batch_device.h"

#include <ATen/ATen.h>

namespace larmor {

Batch to_device(Batch batch, c10::Device device, Precision precision) {
  for (auto& [name, tensor] : batch.tensors) {
    const bool widen = precision == Precision::fp64 && tensor.is_floating_point();
    tensor =
        tensor.to(device, widen ? at::kDouble : tensor.scalar_type(), /*non_blocking=*/tensor.is_pinned());
  }
  return batch;
}

DrawPosition draw_position_of(const Batch& batch) {
  DrawPosition position;
  for (const auto& key : batch.keys) {
    position.seed = key.seed;
    position.epochs.push_back(key.epoch);
    position.examples.push_back(key.example);
  }
  // Cases that no order deals out, as those of a validation, stand where the split has them.
  position.positions = batch.positions.empty() ? position.examples : batch.positions;
  return position;
}

}  // namespace larmor
