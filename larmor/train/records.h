// The parts of the loss that a step shows: summed over micro-batches, averaged over ranks.
#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "larmor/comm/communicator.h"
#include "larmor/track/tracker.h"

namespace larmor {

class Records {
 public:
  /// Adds one micro-batch's value, from any device. It stays where it is until mean().
  void add(const std::string& name, const at::Tensor& value);
  /// Means over `micro_batches` and ranks as "<prefix><name>"; the values meet on the communicator's device.
  /// Every rank must have recorded the same names. Collective.
  Values mean(int64_t micro_batches, const std::string& prefix, Communicator& communicator) const;

 private:
  std::map<std::string, at::Tensor> sums_;  // float64 scalars, of any device
};

}  // namespace larmor
