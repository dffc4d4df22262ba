#include "workloads/fast_ddpm/denoiser/denoiser_stage.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/nn/metrics/image_metrics.h"
#include "larmor/transforms/declared_chain.h"

#include "workloads/fast_ddpm/denoiser/asked_target.h"
#include "workloads/fast_ddpm/denoiser/contrast_phantom.h"
#include "workloads/fast_ddpm/denoiser/denoiser_task.h"

namespace larmor::fast_ddpm {

WorkloadFields DenoiserStage::fields() {
  return {.model = [this](Fields& f) { config_.describe_model(f); },
          .loss = [this](Fields& f) { config_.describe_loss(f); },
          .validation = [this](Fields& f) { validation_.describe(f); },
          .objectives = {}};
}

ImageForm DenoiserStage::form() const {
  config_.check();
  return {.channels = {.count = config_.channels(), .keys = {"model.in_channels"}},
          .divisor = config_.network.size_divisor(),
          .least_sizes = {least_for_ssim(nn::SsimOptions{}.window)},
          .weights = {{"model.weights", config_.weights}},
          .validation = validation_,
          .sample = {.channels = config_.modalities, .missing_as_zeros = true},
          .volumes =
              [channels = config_.channels()](const DataConfig& data) {
                return MadeVolumes{.make = contrast_phantoms(data, channels)};
              },
          .judge = [](Task& task,
                      const at::Tensor& image) { dynamic_cast<DenoiserTask&>(task).count_judgement(image); },
          .reference = ReferenceCases{.count = config_.baseline_cases},
          .predicts_by_average = true};
}

std::unique_ptr<Task> DenoiserStage::make_task(const RunConfig&, const Index&,
                                               const TaskSetting& setting) const {
  return std::make_unique<DenoiserTask>(config_, setting.seed, setting.window, setting.device,
                                        setting.validation);
}

void DenoiserStage::check_example(const Sample& example, Split split) const {
  ImageStage::check_example(example, split);
  const auto present = example.find("present");
  if (present != example.end() && present->second.sum().item<int64_t>() < 2)
    fail(Exit::data, text("has one of the modalities ", join(config_.modalities, ", "), " and no other"),
         "add another modality of the case, or leave it out with data.exclude");
}

std::map<std::string, std::string> DenoiserStage::keeps(const RunConfig& config, const Index& index) const {
  const auto before = kept_modality_counts(kept_files());  // of the run that this one begins with
  const auto begun = config.from.find("run");
  const bool begins_with_uncounted = begun != config.from.end() && !begun->second.empty() && !before;
  if (begins_with_uncounted || !config_.weights.empty()) return {};
  const auto counts = count_modalities(config_.modalities, index, before.value_or(ModalityCounts{}));
  return {{modality_counts_file, to_text(Json(counts))}};
}

PredictionForm DenoiserStage::prediction(const RunConfig& config) const {
  PredictionForm form{.inputs = {},
                      .transforms = prediction_chain(config.data.transforms),
                      .channels = config_.modalities,
                      .volumes = {DenoiserTask::output_name},
                      .draws = true,
                      .units = "0 to 1000 for the range of the training images"};
  for (const std::string& modality : config_.modalities)
    form.inputs.push_back({.name = modality, .kind = PredictionInput::Kind::image, .is_optional = true});
  form.inputs.push_back({.name = target_input, .kind = PredictionInput::Kind::text, .is_optional = true});
  form.check = check_of_target(config_.modalities, kept_modality_counts(kept_files()));
  return form;
}

}  // namespace larmor::fast_ddpm
