// The one stage of Fast-DDPM: scans of several modalities, and the network that generates any one of them
// from the others.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "larmor/data/make_volumes.h"
#include "larmor/data/sample_form.h"
#include "larmor/task/stage.h"

#include "workloads/fast_ddpm/denoiser/asked_target.h"
#include "workloads/fast_ddpm/denoiser/denoiser_config.h"

namespace larmor::fast_ddpm {

class DenoiserStage final : public Stage {
 public:
  WorkloadFields fields() override;
  void check(const RunConfig& config) const override;
  void check_start(const Sample& first) const override;
  /// Refuses sizes that the network cannot halve, other channels, and a case of a single modality.
  void check_example(const Sample& example, Split split) const override;
  Demand demand(const RunConfig& config, const Index& index) const override;
  std::unique_ptr<Dataset> dataset(const RunConfig& config, const Index& index, Split split) const override;
  /// Some training cases, for the linear fit, which is a figure of full depth.
  std::unique_ptr<Dataset> reference(const RunConfig& config, const Index& index,
                                     ValidationDepth depth) const override;
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override;
  /// How many training cases had each modality; nothing where nobody knows what its weights had seen before.
  std::map<std::string, std::string> keeps(const RunConfig& config, const Index& index) const override;
  /// Any of the modalities, and "target" where more than one is missing; "generated" comes out.
  PredictionForm prediction(const RunConfig& config) const override;
  bool predicts_by_average() const override { return true; }

 private:
  std::optional<ModalityCounts> learnt() const;
  SampleForm sample_form() const;
  MakeVolumes image_maker(const DataConfig& data) const;
  /// Voxels an axis that a training example has; 64 where the config does not say.
  std::vector<int64_t> example_size(const DataConfig& data) const;

  DenoiserConfig config_;
  ValidationConfig validation_;
};

}  // namespace larmor::fast_ddpm
