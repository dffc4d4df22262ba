// An exponential moving average of weights.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace larmor {

class Ema {
 public:
  /// Starts as a copy of the parameters (float32 for half types). decay 0 < d < 1.
  Ema(double decay, const std::vector<at::Tensor>& parameters);
  /// average = decay * average + (1 - decay) * parameter.
  void update(const std::vector<at::Tensor>& parameters);
  /// The parameters take the averages' values until restore(), which is called with the same parameters.
  void apply_to(const std::vector<at::Tensor>& parameters);
  void restore(const std::vector<at::Tensor>& parameters);
  std::vector<at::Tensor>& averages() { return averages_; }
  const std::vector<at::Tensor>& averages() const { return averages_; }

 private:
  double decay_;
  std::vector<at::Tensor> averages_;
  std::vector<at::Tensor> live_;  // the parameters' own values between apply_to() and restore()
};

}  // namespace larmor
