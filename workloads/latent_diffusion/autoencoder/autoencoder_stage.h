// The first stage: crops of volumes, and the autoencoder that learns to rebuild them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "larmor/measure/image_stage.h"

#include "workloads/latent_diffusion/autoencoder/autoencoder_config.h"
#include "workloads/latent_diffusion/scans/low_count.h"

namespace larmor::latent_diffusion {

class AutoencoderStage final : public ImageStage {
 public:
  WorkloadFields fields() override;
  /// The remarks of a perceptual term that has no network.
  std::vector<std::string> remarks(const RunConfig& config) const override;
  std::unique_ptr<Dataset> dataset(const RunConfig& config, const Index& index, Split split) const override;
  /// The file of the perceptual network, where there is one.
  std::map<std::string, std::string> keeps(const RunConfig& config, const Index& index) const override;

  /// The config as it was read, for a stage that keeps a run of this one.
  const AutoencoderConfig& own_config() const { return config_; }

 private:
  ImageForm form() const override;
  std::unique_ptr<Task> make_task(const RunConfig& config, const Index& index,
                                  const TaskSetting& setting) const override;
  /// The config as it was read, but with the perceptual network that the run has kept.
  AutoencoderConfig with_kept_network() const;

  enum class Scans { image, both };

  AutoencoderConfig config_;
  ValidationConfig validation_;
  PhantomPairs phantom_pairs_;
  Scans scans_ = Scans::image;
};

}  // namespace larmor::latent_diffusion
