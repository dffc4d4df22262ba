// The first stage: an autoencoder that learns to rebuild volumes through a small latent, with a patch
// discriminator from a set epoch on.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "larmor/nn/losses/lpips.h"
#include "larmor/nn/sliding_window.h"
#include "larmor/task/task.h"

#include "workloads/latent_diffusion/autoencoder/autoencoder_config.h"

namespace larmor::latent_diffusion {

class AutoencoderTask final : public Task {
 public:
  static constexpr const char* output_name = "reconstruction";

  /// New networks are drawn from `seed`; on c10::kMeta they have shapes alone. `window`: voxels an axis of a
  /// training crop, in which predict() goes over an image that does not fit in one pass.
  AutoencoderTask(const AutoencoderConfig& config, uint64_t seed, std::vector<int64_t> window,
                  c10::Device device = c10::kCPU, const ValidationConfig& validation = {});

  std::vector<Objective> objectives() override;
  /// The perceptual network, where there is one.
  std::vector<torch::nn::Module*> companions() override;
  /// `config.weights` replaces the autoencoder's.
  void start() override;
  bool is_active(const Objective& objective, const StepContext& context) const override;
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override;
  /// The complaint of a KL at its clamp.
  std::optional<Complaint> complaint(const std::map<std::string, double>& recorded) const override;
  /// Two kinds of passes: without and with the discriminator.
  std::optional<int64_t> fixed_pass(const StepContext& context) const override {
    return is_adversarial(context);
  }
  /// Metrics psnr, ssim (data range 1), l1, perceptual where there is such a network, and loss of the mean's
  /// reconstruction: the reconstruction term and the weighted perceptual one.
  void validate(const Batch& batch, Metrics& metrics) override;
  DeclaredFigures figures() const override;
  /// What validate() computes of images [N, C, D, H, W]: in windows where whole cases are judged so, and in
  /// those of predict() where memory does not hold one pass.
  struct Judged {
    at::Tensor reconstruction;  // [N, C, D, H, W], in the images' type
    at::Tensor psnr, ssim;      // [N]
    at::Tensor perceptual;      // [N]; undefined without such a network
  };
  Judged judge(const at::Tensor& images, bool fits_in_one_pass = true,
               const std::function<void(double)>& progress = {});
  /// The mean's reconstruction, on the grid of the file.
  Prediction predict(const Batch& inputs, const PredictionContext& context) override;

  /// What the network takes of a batch, [N, C, D, H, W]: the image, or both scans of a pair.
  at::Tensor image_of(const Batch& batch) const;
  const nn::AutoencoderKl& network() const { return autoencoder_; }
  const nn::AutoencoderKlOptions& options() const { return config_.network; }

 private:
  bool is_adversarial(const StepContext& context) const;
  /// Records "kl", and "kl_counted" where a clamp decides how much of it counts. mean, sigma: [N, C, d, h, w]
  at::Tensor kl_term(const at::Tensor& mean, const at::Tensor& sigma, const StepContext& context) const;
  at::Tensor with_checked_channels(const at::Tensor& image) const;  // throws Error (data)
  at::Tensor reconstruct_whole(const at::Tensor& image);            // [1, C, D, H, W], sizes need not divide
  /// [N]: LPIPS of drawn slices. Requires: a perceptual network
  at::Tensor perceptual_error(const at::Tensor& reconstruction, const at::Tensor& image) const;
  at::Tensor reconstruction_error(const at::Tensor& reconstruction, const at::Tensor& image) const;

  AutoencoderConfig config_;
  std::vector<int64_t> window_;
  nn::Windows validation_windows_;  // without size: validation looks at crops
  nn::AutoencoderKl autoencoder_{nullptr};
  nn::PatchDiscriminator discriminator_{nullptr};
  std::shared_ptr<nn::Lpips> perceptual_;  // null: no perceptual term
};

}  // namespace larmor::latent_diffusion
