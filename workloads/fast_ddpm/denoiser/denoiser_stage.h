// The one stage of Fast-DDPM: scans of several modalities, and the network that generates any one of them
// from the others.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "larmor/measure/image_stage.h"

#include "workloads/fast_ddpm/denoiser/denoiser_config.h"

namespace larmor::fast_ddpm {

class DenoiserStage final : public ImageStage {
 public:
  WorkloadFields fields() override;
  /// Refuses a case of a single modality, too.
  void check_example(const Sample& example, Split split) const override;
  /// How many training cases had each modality; nothing where nobody knows what its weights had seen before.
  std::map<std::string, std::string> keeps(const RunConfig& config, const Index& index) const override;
  /// Any of the modalities, and "target" where more than one is missing; "generated" comes out.
  PredictionForm prediction(const RunConfig& config) const override;

 private:
  /// Its reference cases are for the linear fit, which is a figure of full depth.
  ImageForm form() const override;
  std::unique_ptr<Task> make_task(const RunConfig& config, const Index& index,
                                  const TaskSetting& setting) const override;

  DenoiserConfig config_;
  ValidationConfig validation_;
};

}  // namespace larmor::fast_ddpm
