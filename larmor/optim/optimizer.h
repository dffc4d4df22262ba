// How weights move: SGD, Adam and AdamW over libtorch's fused kernels. State is kept per parameter, so
// that it can be saved and cut by name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/config/run_config.h"
#include "larmor/optim/parameter_groups.h"

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

/// What an optimizer keeps of every parameter.
struct StateKind {
  std::string name;
  bool is_scalar = false;  // one number; otherwise shaped like the parameter
};
/// The kinds of Optimizer::state() that make_optimizer(config, …) has, by name. Throws Error (usage) for an
/// unknown optimizer.
std::vector<StateKind> state_kinds(const OptimConfig& config);

/// adamw, adam (L2 decay) or sgd. Borrows nothing: holds the parameters' handles. `parameters` are leaves
/// of one type and device. `traits`, one a parameter or none, take the place of the config's weight decay and
/// are factors of the learning rate. Throws Error (usage) for another name.
std::unique_ptr<Optimizer> make_optimizer(const OptimConfig& config, std::vector<at::Tensor> parameters,
                                          std::vector<ParameterTraits> traits = {});

/// The 2-norm over all elements of gradients of one type and device. A tensor, so that nothing waits for the
/// device. Requires: at least one
at::Tensor gradient_norm(const std::vector<at::Tensor>& gradients);
/// Scales gradients in place so that their norm is at most `largest`; `norm` as gradient_norm gave it.
/// torch.nn.utils.clip_grad_norm_'s formula: coefficient largest / (norm + 1e-6), at most 1.
void clip_gradients(const std::vector<at::Tensor>& parameters, const at::Tensor& norm, double largest);

}  // namespace larmor
