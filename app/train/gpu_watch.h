// Looks at the GPUs of a run while its ranks use them, from the process that has started them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "larmor/hardware/hardware.h"

namespace larmor::app {

/// Warns of Xids, of GPUs that are lost and of GPUs that run slower than they could, within a second or two.
/// A driver that does not answer holds up nothing but the watch itself.
class GpuWatch {
 public:
  /// A watch; without GPUs it does nothing.
  explicit GpuWatch(const std::vector<Gpu>& gpus);
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  /// Looks once more and ends. What may be why a rank has ended, in words; "" where nothing was seen.
  std::string finish();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace larmor::app
