#include "tests/checkpoint/support/small_snapshot.h"

#include <fstream>

#include <ATen/ATen.h>

#include "larmor/base/text.h"

namespace larmor::testing {

Snapshot small_snapshot(int64_t step, int rank, std::optional<double> metric) {
  Snapshot snapshot;
  snapshot.step = step;
  snapshot.epoch = static_cast<double>(step) / 10;
  snapshot.examples = step * 4;
  const auto file = rank == 0 ? std::string("model.safetensors") : text("optimizer-", rank, ".safetensors");
  snapshot.files[file] = {{"bias", at::full({3}, static_cast<double>(step))},
                          {"weight", at::full({2, 3}, static_cast<double>(step) + 0.5)}};
  snapshot.state["step"] = step;
  snapshot.metric = metric;
  return snapshot;
}

CheckpointOptions saved_at_once() {
  CheckpointOptions options;
  options.async = false;
  return options;
}

bool holds_step(const CheckpointEntry& entry, int64_t step) {
  const auto tensors = read_checkpoint_file(entry, "model.safetensors");
  return entry.step == step && tensors.at("bias").equal(at::full({3}, static_cast<double>(step))) &&
         read_checkpoint_state(entry).at("step") == step;
}

void flip_bit(const std::filesystem::path& path, uint64_t byte, int bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(byte));
  const int value = file.get();
  file.seekp(static_cast<std::streamoff>(byte));
  file.put(static_cast<char>(value ^ (1 << bit)));
}

}  // namespace larmor::testing
