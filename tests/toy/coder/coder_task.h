// The first stage's network and what it learns: an image through a latent of half its size, and back.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "larmor/nn/blocks/block.h"
#include "larmor/task/task.h"

namespace larmor::toy {

constexpr int64_t latent_channels = 2;

class CoderNet final : public torch::nn::Module {
 public:
  CoderNet(int64_t in_channels, int64_t channels, c10::Device device);
  at::Tensor encode(const at::Tensor& image);   // [N, C, D, H, W] to [N, 2, D/2, H/2, W/2]
  at::Tensor decode(const at::Tensor& latent);  // and back

 private:
  std::shared_ptr<nn::Chain> encoder_, decoder_;
};

class CoderTask final : public Task {
 public:
  CoderTask(int64_t in_channels, int64_t channels, uint64_t seed, c10::Device device = c10::kCPU);

  CoderNet& network() { return *network_; }

  std::vector<Objective> objectives() override;
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override;
  void validate(const Batch& batch, Metrics& metrics) override;
  /// Decodes a latent of noise.
  Prediction predict(const Batch& inputs, const PredictionContext& context) override;

 private:
  std::shared_ptr<CoderNet> network_;
};

}  // namespace larmor::toy
