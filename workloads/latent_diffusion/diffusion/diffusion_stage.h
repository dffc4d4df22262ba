// The second stage: volumes as a trained autoencoder sees them, and the U-Net that learns to make such
// latents out of noise.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "larmor/task/stage.h"

#include "workloads/latent_diffusion/autoencoder/autoencoder_config.h"
#include "workloads/latent_diffusion/diffusion/diffusion_config.h"
#include "workloads/latent_diffusion/scans/low_count.h"

namespace larmor::latent_diffusion {

class DiffusionStage final : public Stage {
 public:
  WorkloadFields fields() override;
  void check(const RunConfig& config) const override;
  /// Refuses an autoencoder that does not fit: other channels, or crops that it cannot halve so often.
  void check_start(const Sample& first) const override;
  void check_example(const Sample& example, Split split) const override;
  Demand demand(const RunConfig& config, const Index& index) const override;
  /// Images or, for training with model.latents=kept, what the autoencoder makes of them.
  std::unique_ptr<Dataset> dataset(const RunConfig& config, const Index& index, Split split) const override;
  /// The cases: at full depth what samples might be copies of, or what a filter is fitted to. While a run
  /// trains, up to 64 cases for the picture of invented images, and none where there is no picture.
  std::unique_ptr<Dataset> reference(const RunConfig& config, const Index& index,
                                     ValidationDepth depth) const override;
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override;
  /// The grid of training images, where images are invented.
  std::map<std::string, std::string> keeps(const RunConfig& config, const Index& index) const override;
  /// "sample" out: of nothing, or of "low" where the stage is conditioned.
  PredictionForm prediction(const RunConfig& config) const override;
  bool predicts_by_average() const override { return true; }

  /// The config, as it was read.
  const DiffusionConfig& own_config() const { return config_; }

 private:
  /// The autoencoder's config, as its run has it; read when it is first asked for.
  const AutoencoderConfig& autoencoder() const;
  /// What training sees of an image of `window` voxels an axis, in shapes alone.
  Sample example_to_count(const std::vector<int64_t>& window) const;
  std::unique_ptr<Dataset> latents(const RunConfig& config, const Index& index) const;
  /// The cases, as validation sees them; `cache` in place of data.cache.
  std::unique_ptr<Dataset> training_cases(const RunConfig& config, const Index& index,
                                          const std::string& cache) const;

  DiffusionConfig config_;
  PhantomPairs phantom_pairs_;
  mutable std::once_flag autoencoder_read_;
  mutable AutoencoderConfig autoencoder_;
};

}  // namespace larmor::latent_diffusion
