#include "workloads/fast_ddpm/denoiser/denoiser_stage.h"

#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/data/some_cases.h"
#include "larmor/data/volume_dataset.h"
#include "larmor/measure/demand_count.h"
#include "larmor/measure/validation_count.h"
#include "larmor/nn/metrics/image_metrics.h"
#include "larmor/task/volume_stage.h"
#include "larmor/transforms/declared_chain.h"

#include "workloads/fast_ddpm/denoiser/contrast_phantom.h"
#include "workloads/fast_ddpm/denoiser/denoiser_task.h"

namespace larmor::fast_ddpm {
namespace {

constexpr const char *channels_key = "model.in_channels", *kept_counts = "modality_counts.json",
                     *target_input = "target";

}  // namespace

WorkloadFields DenoiserStage::fields() {
  return {.model = [this](Fields& f) { config_.describe_model(f); },
          .loss = [this](Fields& f) { config_.describe_loss(f); },
          .validation = [this](Fields& f) { validation_.describe(f); },
          .objectives = {}};
}

void DenoiserStage::check(const RunConfig& config) const {
  config_.check();
  check_chains(config);
  const auto divisor = config_.network.size_divisor();
  for (const auto size : training_crop(config.data.transforms)) check_crop(size, divisor);
  check_windows(validation_, divisor);
  if (validation_.of_whole_cases()) return;
  for (const auto size : validation_crop(config.data.transforms)) check_crop(size, divisor);
}

void DenoiserStage::check_start(const Sample& first) const {
  check_first(first, config_.channels(), channels_key, config_.weights);
}

void DenoiserStage::check_example(const Sample& example, Split split) const {
  check_channels(example, config_.channels(), channels_key);
  const bool is_whole = split != Split::train && validation_.of_whole_cases();
  if (!is_whole) check_sizes(example, config_.network.size_divisor());
  if (split != Split::train) check_size_for_ssim(example, nn::SsimOptions{}.window);
  const auto present = example.find("present");
  if (present != example.end() && present->second.sum().item<int64_t>() < 2)
    fail(Exit::data, text("has one of the modalities ", join(config_.modalities, ", "), " and no other"),
         "add another modality of the case, or leave it out with data.exclude");
}

std::vector<int64_t> DenoiserStage::example_size(const DataConfig& data) const {
  std::vector<int64_t> size{64, 64, 64};
  if (data.kind == "phantom") size = data.phantom_size;
  for (const Json& step : data.transforms) {
    if (!step.is_object() || step.empty() || !step.front().is_object()) continue;
    const auto found = step.front().find("spatial_size");
    if (found != step.front().end() && found->is_array()) size = found->get<std::vector<int64_t>>();
  }
  const auto crop = training_crop(data.transforms);
  return crop.empty() ? size : crop;
}

Demand DenoiserStage::demand(const RunConfig& config, const Index& index) const {
  const auto size = size_of_example(config, index, example_size(config.data), config_.network.size_divisor());
  DenoiserTask trial(config_, /*seed=*/0, size, c10::kMeta);
  auto demand = count_demand(config, index, training_chain(config.data.transforms), trial,
                             image_to_count(config_.channels(), size));
  demand.preferred_micro_batch = 1;
  if (validation_.of_whole_cases() && !index.of(Split::val).empty()) {
    DenoiserTask judging(config_, /*seed=*/0, size, c10::kMeta, validation_);
    count_validation(
        judging, config_.channels(), largest_case(config, index), validation_,
        [&](const at::Tensor& image) { judging.count_judgement(image); }, demand);
  }
  return demand;
}

SampleForm DenoiserStage::sample_form() const {
  return {.channels = config_.modalities, .missing_as_zeros = true};
}

MakeVolumes DenoiserStage::image_maker(const DataConfig& data) const {
  return [seed = static_cast<uint64_t>(data.phantom_seed), size = data.phantom_size,
          channels = config_.channels()](const Case&, int64_t number) -> Volumes {
    return {{"image", make_contrast_phantom(seed, number, size, channels)}};
  };
}

std::unique_ptr<Dataset> DenoiserStage::dataset(const RunConfig& config, const Index& index,
                                                Split split) const {
  return volume_dataset(config, index, split, sample_form(), image_maker(config.data), validation_);
}

std::unique_ptr<Dataset> DenoiserStage::reference(const RunConfig& config, const Index& index,
                                                  ValidationDepth depth) const {
  if (depth != ValidationDepth::full) return nullptr;
  auto data = config.data;
  if (data.cache == "smart") data.cache = "none";  // its window is training's
  const auto chain =
      validation_.of_whole_cases() ? prediction_chain(data.transforms) : validation_chain(data.transforms);
  auto cases = make_volume_dataset(data, index, Split::train, chain, sample_form(), image_maker(data));
  return some_cases(std::move(cases), config_.baseline_cases);
}

std::unique_ptr<Task> DenoiserStage::task(const RunConfig& config, const Index&) const {
  return std::make_unique<DenoiserTask>(config_, static_cast<uint64_t>(config.run.seed),
                                        example_size(config.data), c10::kCPU, validation_);
}

std::optional<ModalityCounts> DenoiserStage::learnt() const {
  const auto kept = kept_files().find(kept_counts);
  if (kept == kept_files().end()) return std::nullopt;
  return read_modality_counts(kept->second);
}

std::map<std::string, std::string> DenoiserStage::keeps(const RunConfig& config, const Index& index) const {
  const auto before = learnt();  // of the run that this one begins with
  const auto begun = config.from.find("run");
  const bool begins_with_uncounted = begun != config.from.end() && !begun->second.empty() && !before;
  if (begins_with_uncounted || !config_.weights.empty()) return {};
  ModalityCounts counts = count_modalities(config_.modalities, index);
  if (before) {
    for (const auto& [modality, count] : *before) counts[modality] += count;
  }
  return {{kept_counts, to_text(Json(counts))}};
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
  form.check = [modalities = config_.modalities,
                learnt = learnt()](const std::map<std::string, std::string>& given) {
    const auto asked = given.find(target_input);
    asked_target(
        modalities, [&](const std::string& name) { return given.contains(name); },
        asked == given.end() ? std::nullopt : std::optional(asked->second), learnt);
  };
  return form;
}

}  // namespace larmor::fast_ddpm
