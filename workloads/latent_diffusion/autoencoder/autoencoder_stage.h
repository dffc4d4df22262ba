// The first stage: crops of volumes, and the autoencoder that learns to rebuild them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "larmor/task/stage.h"

#include "workloads/latent_diffusion/autoencoder/autoencoder_config.h"
#include "workloads/latent_diffusion/scans/low_count.h"

namespace larmor::latent_diffusion {

class AutoencoderStage final : public Stage {
 public:
  WorkloadFields fields() override;
  void check(const RunConfig& config) const override;
  void check_start(const Sample& first) const override;
  void check_example(const Sample& example, Split split) const override;
  /// Of a perceptual term that has no network.
  std::vector<std::string> remarks(const RunConfig& config) const override;
  Demand demand(const RunConfig& config, const Index& index) const override;
  std::unique_ptr<Dataset> dataset(const RunConfig& config, const Index& index, Split split) const override;
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override;
  /// The file of the perceptual network, where there is one.
  std::map<std::string, std::string> keeps(const RunConfig& config, const Index& index) const override;
  /// One image in, "reconstruction" out.
  PredictionForm prediction(const RunConfig& config) const override;

  /// As it was read, for a stage that keeps a run of this one.
  const AutoencoderConfig& own_config() const { return config_; }

 private:
  void check_channels(const Sample& example) const;
  void check_crop_for_slices(int64_t size) const;
  void check_size_for_slices(const Sample& example) const;  // of whole cases: throws Error (data)
  /// As it was read, but with the perceptual network that the run has kept.
  AutoencoderConfig with_kept_network() const;

  enum class Scans { image, both };

  AutoencoderConfig config_;
  ValidationConfig validation_;
  PhantomPairs phantom_pairs_;
  Scans scans_ = Scans::image;
};

/// The size of the examples whose memory is planned: that of the crops, and without one that of the invented
/// volumes. What files hold is not known before they are read.
std::vector<int64_t> planned_window(const RunConfig& config);

}  // namespace larmor::latent_diffusion
