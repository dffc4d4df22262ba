// The second stage: a U-Net that learns to take noise out of the latents of a trained autoencoder.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "larmor/device/device_constant.h"
#include "larmor/nn/diffusion/sampling.h"
#include "larmor/task/task.h"

#include "workloads/latent_diffusion/diffusion/diffusion_config.h"
#include "workloads/latent_diffusion/diffusion/latent_space.h"
#include "workloads/latent_diffusion/diffusion/sample_grid.h"

namespace larmor::latent_diffusion {

class DiffusionTask final : public Task {
 public:
  static constexpr const char* output_name = "sample";
  static constexpr const char* condition_name = "low";
  static constexpr int64_t steps_for_a_picture = 20;

  /// The U-Net is drawn from `seed`; on c10::kMeta it has shapes alone, and `autoencoder` is on it too.
  DiffusionTask(const DiffusionConfig& config, uint64_t seed, std::unique_ptr<Task> autoencoder,
                SampleGrid grid, c10::Device device = c10::kCPU);

  std::vector<Objective> objectives() override;
  std::vector<torch::nn::Module*> companions() override { return {latents_.network()}; }
  /// The scale factor, from the latents of the first global batch.
  void prepare(const EachBatch& first, const StepContext& context) override;
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override;
  std::optional<int64_t> fixed_pass(const StepContext&) const override { return 0; }
  /// "loss" at four evenly spaced times. At full depth what is sampled is judged: psnr, ssim and mae against
  /// the label where a condition is given, else the statistics of latents, and how near they come to those of
  /// training. While a run trains, two cases are sampled for a picture, in steps_for_a_picture at most.
  void validate(const Batch& batch, Metrics& metrics) override;
  void summarize(const CaseValues& cases, const CaseValues& reference, Metrics& metrics) override;
  /// The autoencoder alone sees them.
  bool reference_stays() const override { return true; }
  DeclaredFigures figures() const override;
  /// What sampling for a picture computes, for who counts its memory: `image` [1, C, D, H, W] of training's
  /// size, on the meta device.
  void count_sample(const at::Tensor& image);
  /// An invented image on the grid of training, or the translation of "low" on the grid of its file.
  Prediction predict(const Batch& inputs, const PredictionContext& context) override;
  void save(StateWriter& writer) const override;
  void load(const StateReader& reader, bool of_average) override;

 private:
  /// What a batch gives the U-Net: scaled latents of what it learns, and those of the condition, as they are.
  struct Latents {
    at::Tensor target, condition;  // [N, C, d, h, w]; condition undefined where there is none
  };
  Latents latents_of(const Batch& batch) const;
  /// The latents that are learned, unscaled: of the image, or drawn from the posteriors that the data keep.
  at::Tensor target_latent(const Batch& batch) const;
  at::Tensor denoise(const at::Tensor& x, const at::Tensor& condition, const at::Tensor& times);
  /// [N] of each row, weighted.
  at::Tensor row_errors(const Latents& latents, const at::Tensor& times, const at::Tensor& noise);
  /// An unscaled latent like `like`, from noise. `denoising` asks the U-Net.
  at::Tensor sampled_latent(const nn::SamplerOptions& sampling, const at::Tensor& like,
                            const nn::DenoisingFunction& denoising,
                            const std::function<void(double)>& progress = {}) const;
  /// The same for the examples of a batch, whose condition is what predict() takes.
  at::Tensor sampled_latents(const nn::SamplerOptions& sampling, const Batch& batch, const Latents& latents,
                             const std::function<void(double)>& progress);
  nn::SamplerOptions sampling_for_a_picture() const;
  /// Notes the cases, for report_nearest(), or where images are translated for report_filtered().
  void note_training_cases(const Batch& batch, Metrics& metrics);
  void judge_samples(const Batch& batch, const Latents& latents, Metrics& metrics);
  void show_samples(const Batch& batch, const Latents& latents, Metrics& metrics);
  void show_nearest(const CaseValues& cases, const CaseValues& reference, Metrics& metrics);
  Prediction invented(const PredictionContext& context);
  Prediction translated(const at::Tensor& image, const PredictionContext& context);

  const DiffusionConfig config_;
  const nn::NoiseSchedule schedule_;
  const SampleGrid grid_;
  LatentSpace latents_;
  nn::DiffusionUnet network_{nullptr};
  DeviceConstant scale_;  // [1, 1 or C, 1, 1, 1] float64
};

}  // namespace larmor::latent_diffusion
