#include "larmor/task/batch_device.h"

#include <ATen/ATen.h>

namespace larmor {

c10::ScalarType type_on_device(const at::Tensor& tensor, Precision precision) {
  return precision == Precision::fp64 && tensor.is_floating_point() ? c10::kDouble : tensor.scalar_type();
}

Batch to_device(Batch batch, c10::Device device, Precision precision) {
  for (auto& [name, tensor] : batch.tensors)
    tensor = tensor.to(device, type_on_device(tensor, precision), /*non_blocking=*/tensor.is_pinned());
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
