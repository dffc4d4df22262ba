// How weights move: SGD, Adam and AdamW over libtorch's fused kernels. State is kept per parameter, so
// that it can be saved and cut by name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/config/run_config.h"

namespace larmor {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// One step with the parameters' own gradients. Parameters without a gradient stand still.
  virtual void step(double learning_rate) = 0;
  /// State tensors by kind ("exp_avg", "exp_avg_sq", "step"; "momentum_buffer"), one per parameter, in the
  /// parameters' order; undefined where a parameter has none yet. "step" is a scalar, the others are
  /// shaped and laid out like the parameter.
  virtual std::map<std::string, std::vector<at::Tensor>>& state() = 0;
  /// Steps taken, also those that a parameter stood still in; set when state is loaded.
  virtual int64_t steps() const = 0;
  virtual void set_steps(int64_t steps) = 0;
};

/// adamw, adam (L2 decay) or sgd. Borrows nothing: holds the parameters' handles. `parameters` are leaves
/// of one type and device. Throws Error (usage) for another name.
std::unique_ptr<Optimizer> make_optimizer(const OptimConfig& config, std::vector<at::Tensor> parameters);

/// The 2-norm over all gradients (absent ones count 0). A tensor, so that nothing waits for the device.
at::Tensor gradient_norm(const std::vector<at::Tensor>& parameters);
/// Scales gradients in place so that their norm is at most `largest`; `norm` as gradient_norm gave it.
/// torch.nn.utils.clip_grad_norm_'s formula: coefficient largest / (norm + 1e-6), at most 1.
void clip_gradients(const std::vector<at::Tensor>& parameters, const at::Tensor& norm, double largest);

}  // namespace larmor
