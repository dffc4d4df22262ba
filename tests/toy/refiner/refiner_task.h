// What the second stage of the toy learns: to take noise out of the latents of a frozen coder. It asks for
// everything that a task may ask for: a companion, a scale factor from the first global batch, draws and
// dropout, a loss over a ragged count, parameters with a rate of their own, a channel that may be missing, an
// image on another grid, a text.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "larmor/task/task.h"

#include "tests/toy/coder/coder_task.h"
#include "tests/toy/refiner/refiner_net.h"

namespace larmor::toy {

class RefinerTask final : public Task {
 public:
  RefinerTask(int64_t channels, uint64_t seed, std::unique_ptr<CoderTask> coder,
              c10::Device device = c10::kCPU);

  std::vector<Objective> objectives() override;
  std::vector<torch::nn::Module*> companions() override { return {&coder_->network()}; }
  void prepare(const EachBatch& first, const StepContext& context) override;
  int64_t counted() const override { return 1; }
  at::Tensor counts(const Batch& batch) override;
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override;
  void validate(const Batch& batch, Metrics& metrics) override;
  Prediction predict(const Batch& inputs, const PredictionContext& context) override;
  void save(StateWriter& writer) const override;
  void load(const StateReader& reader, bool of_average) override;

 private:
  /// [N, 2, D/2, H/2, W/2] of images [N, 1, D, H, W], without gradient and scaled.
  at::Tensor latent_of(const at::Tensor& image);
  /// [N] what a row's noise is guessed wrong by, summed over the part of its latent that counts.
  at::Tensor errors(const Batch& batch);

  std::unique_ptr<CoderTask> coder_;
  std::shared_ptr<RefinerNet> network_;
  double scale_ = 1;
};

}  // namespace larmor::toy
