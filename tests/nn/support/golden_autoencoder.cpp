#include "tests/nn/support/golden_autoencoder.h"

#include <cmath>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "larmor/nn/losses/losses.h"

#include "tests/nn/support/golden.h"

namespace larmor::testing {
namespace {

/// Adam as its paper has it, on the tensors themselves.
class PlainAdam {
 public:
  explicit PlainAdam(std::vector<at::Tensor> parameters) : parameters_(std::move(parameters)) {
    for (const auto& parameter : parameters_) {
      first_.push_back(at::zeros_like(parameter));
      second_.push_back(at::zeros_like(parameter));
    }
  }
  void step() {
    const at::NoGradGuard no_gradient;
    ++steps_;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const at::Tensor gradient = parameters_[i].grad();
      first_[i] = 0.9 * first_[i] + 0.1 * gradient;
      second_[i] = 0.999 * second_[i] + 0.001 * gradient * gradient;
      const at::Tensor mean = first_[i] / (1 - std::pow(0.9, steps_));
      const at::Tensor square = second_[i] / (1 - std::pow(0.999, steps_));
      parameters_[i] -= 1e-3 * mean / (square.sqrt() + 1e-8);
      parameters_[i].mutable_grad() = at::Tensor();
    }
  }

 private:
  std::vector<at::Tensor> parameters_, first_, second_;
  double steps_ = 0;
};

}  // namespace

nn::AutoencoderKlOptions small_options() {
  nn::AutoencoderKlOptions options;
  options.channels = {16, 32, 64};
  options.num_res_blocks = {1};
  options.norm_num_groups = 8;
  options.latent_channels = 4;
  return options;
}

nn::AutoencoderKlOptions attention_options() {
  nn::AutoencoderKlOptions options;
  options.in_channels = options.out_channels = 2;
  options.channels = {8, 16, 24};
  options.num_res_blocks = {1, 2, 1};
  options.norm_num_groups = 8;
  options.latent_channels = 3;
  options.attention_levels = {false, false, true};
  options.with_encoder_nonlocal_attn = options.with_decoder_nonlocal_attn = true;
  return options;
}

at::Tensor curve_loss(nn::AutoencoderKl& network, const std::string& kind, int step, at::ScalarType type) {
  const Golden golden("ae_small_curve");
  const std::string entry = std::to_string(step % 4);
  const at::Tensor image = golden.at("batch/" + entry).to(type);
  const at::Tensor noise = golden.at("noise/" + entry).to(type);
  const auto output = network->forward(image, kind == "sampled" ? noise : at::zeros_like(noise));
  return (output.reconstruction - image).abs().mean() +
         1e-7 * nn::kl_divergence(output.mean, output.sigma, 0);
}

std::vector<double> train_twenty_steps(nn::AutoencoderKl& network, const std::string& kind,
                                       at::ScalarType type, const std::function<void(int)>& before_step) {
  Golden("ae_small").load_weights(*network, type);
  PlainAdam adam(network->parameters());
  std::vector<double> losses;
  for (int step = 0; step < 20; ++step) {
    if (before_step) before_step(step);
    const at::Tensor loss = curve_loss(network, kind, step, type);
    losses.push_back(loss.item<double>());
    loss.backward();
    adam.step();
  }
  return losses;
}

}  // namespace larmor::testing
