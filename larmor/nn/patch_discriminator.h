// The patch discriminator of adversarial reconstruction, under MONAI's names.
// Source: monai.networks.nets.PatchDiscriminator (1.6).
#pragma once

#include <torch/nn.h>

#include <cstdint>
#include <vector>

#include "larmor/config/fields.h"

namespace larmor::nn {

struct PatchDiscriminatorOptions {
  int64_t in_channels = 1, out_channels = 1;
  int64_t channels = 32;
  int64_t num_layers_d = 3;
  void describe(Fields& f);
};

class PatchDiscriminatorImpl : public torch::nn::Module {
 public:
  explicit PatchDiscriminatorImpl(const PatchDiscriminatorOptions& options);
  /// image [N, C, D, H, W]; the outputs of all stages, the last is the logit map.
  std::vector<at::Tensor> forward(const at::Tensor& image);
};
TORCH_MODULE(PatchDiscriminator);

/// While it lives, gradients pass through `module` without reaching its parameters: how the generator's
/// adversarial term is kept out of the discriminator.
class Frozen {
 public:
  explicit Frozen(torch::nn::Module& module);
  ~Frozen();
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;

 private:
  std::vector<at::Tensor> thawed_;  // parameters that required a gradient before
};

}  // namespace larmor::nn
