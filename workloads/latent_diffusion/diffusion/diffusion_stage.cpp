#include "workloads/latent_diffusion/diffusion/diffusion_stage.h"

#include <ATen/ops/zeros.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/nn/metrics/image_metrics.h"
#include "larmor/train/earlier_run.h"
#include "larmor/train/measure/demand_count.h"
#include "larmor/train/volume_stage.h"
#include "larmor/transforms/declared_chain.h"
#include "larmor/transforms/transforms.h"

#include "workloads/latent_diffusion/autoencoder/autoencoder_stage.h"
#include "workloads/latent_diffusion/diffusion/diffusion_task.h"

namespace larmor::latent_diffusion {

namespace {

constexpr const char* earlier_stage = "autoencoder";

/// Where the declared transforms leave an image that lies straight in its scanner.
SampleGrid sample_grid(const RunConfig& config) {
  const auto window = training_window(config);
  const TransformChain chain(prediction_chain(config.data.transforms));
  Volumes volumes{{"image", {.voxels = at::zeros({1, window[0], window[1], window[2]})}}};
  return {.window = window, .affine = chain.deterministic_part(std::move(volumes)).at("image").affine};
}

}  // namespace

WorkloadFields DiffusionStage::fields() {
  return {.model = [this](Fields& f) { config_.describe_model(f); },
          .loss = [this](Fields& f) { config_.describe_loss(f); },
          .objectives = {}};
}

void DiffusionStage::check(const RunConfig& config) const {
  config_.check();
  check_chains(config);
  for (const auto size : training_crop(config.data.transforms))
    check_crop(size, config_.network.size_divisor());
}

const AutoencoderConfig& DiffusionStage::autoencoder() const {
  std::call_once(autoencoder_read_, [this] {
    const LoadedStage kept = earlier()->stage(earlier_stage);
    autoencoder_ = dynamic_cast<const AutoencoderStage&>(*kept.stage).own_config();
    autoencoder_.perceptual_network.clear();  // it is trained no further
  });
  return autoencoder_;
}

void DiffusionStage::check_start(const Sample& first) const {
  config_.check_latent(autoencoder().network);
  check_example(first, Split::train);
}

void DiffusionStage::check_example(const Sample& example, Split split) const {
  const AutoencoderConfig& theirs = autoencoder();
  const auto label = example.find("label");
  int64_t channels = example.at("image").size(0);
  if (config_.is_conditioned()) {
    if (label == example.end())
      fail(Exit::data, "has no label, and model.condition=concat learns to make the label of the image",
           "give pairs (data.kind=npz, or a list with the columns image and label), or model.condition=none");
    if (label->second.sizes() != example.at("image").sizes())
      fail(Exit::data, "has an image and a label of different shapes",
           "bring both to one grid with data.grids=resample");
  } else if (channels != theirs.network.in_channels && label != example.end()) {
    channels += label->second.size(0);  // both scans of a pair
  }
  theirs.check_channels(channels);
  check_sizes(example, theirs.network.size_divisor() * config_.network.size_divisor());
  if (config_.is_conditioned() && split != Split::train)
    check_size_for_ssim(example, nn::SsimOptions{}.window);
}

Demand DiffusionStage::demand(const RunConfig& config, const Index& index) const {
  const AutoencoderConfig& theirs = autoencoder();
  const auto window = planned_window(config);
  DiffusionTask trial(config_, /*seed=*/0,
                      std::make_unique<AutoencoderTask>(theirs, /*seed=*/0, window, c10::kMeta),
                      {.window = window}, c10::kMeta);
  Sample example = image_to_count(theirs.network.in_channels, window);
  if (config_.is_conditioned()) example["label"] = example.at("image");
  auto demand = count_demand(config, index, training_chain(config.data.transforms), trial, example);
  demand.preferred_micro_batch = 2;
  return demand;
}

std::unique_ptr<Dataset> DiffusionStage::dataset(const RunConfig& config, const Index& index,
                                                 Split split) const {
  return volume_dataset(config, index, split);
}

std::unique_ptr<Task> DiffusionStage::task(const RunConfig& config, const Index&) const {
  return std::make_unique<DiffusionTask>(config_, static_cast<uint64_t>(config.run.seed),
                                         earlier()->read(earlier_stage).task(), sample_grid(config));
}

PredictionForm DiffusionStage::prediction(const RunConfig& config) const {
  PredictionForm form{.inputs = {}, .volumes = {DiffusionTask::output_name}, .draws = true};
  if (!config_.is_conditioned()) return form;
  form.inputs = {{.name = DiffusionTask::condition_name}};
  form.transforms = prediction_chain(config.data.transforms);
  return form;
}

}  // namespace larmor::latent_diffusion
