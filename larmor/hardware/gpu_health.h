// What goes wrong with GPUs while ranks run on them, as the driver tells it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "larmor/hardware/hardware.h"

namespace larmor {

struct GpuTrouble {
  int gpu = 0;         // as CUDA counts them here
  std::string words;   // "GPU 1 (NVIDIA A100): Xid 79 (the GPU has fallen off the bus)"
  bool is_end = true;  // may be why a rank has ended; not so of a GPU that is only slow
};

/// Asks NVML of `gpus`, as detect_hardware() has found them. Without NVML, or without a GPU, there is no
/// news. One thread at a time. Holds no device context.
class GpuHealth {
 public:
  explicit GpuHealth(const std::vector<Gpu>& gpus, const HardwareSources& sources = {});
  ~GpuHealth();
  GpuHealth(const GpuHealth&) = delete;
  GpuHealth& operator=(const GpuHealth&) = delete;

  /// What has come since the last call: Xids, GPUs that are lost, GPUs that run slower than they could; of a
  /// GPU each reason once.
  std::vector<GpuTrouble> take_news();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace larmor
