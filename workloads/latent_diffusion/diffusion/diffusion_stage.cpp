#include "workloads/latent_diffusion/diffusion/diffusion_stage.h"

#include <cstddef>
#include <utility>

#include <ATen/ops/empty.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/some_cases.h"
#include "larmor/data/volume_dataset.h"
#include "larmor/measure/demand_count.h"
#include "larmor/measure/validation_count.h"
#include "larmor/nn/metrics/image_metrics.h"
#include "larmor/run/earlier/earlier_run.h"
#include "larmor/task/example_size.h"
#include "larmor/task/networks.h"
#include "larmor/task/volume_stage.h"
#include "larmor/transforms/declared_chain.h"
#include "larmor/transforms/mask_name.h"
#include "larmor/transforms/transforms.h"

#include "workloads/latent_diffusion/autoencoder/autoencoder_stage.h"
#include "workloads/latent_diffusion/diffusion/diffusion_task.h"
#include "workloads/latent_diffusion/diffusion/kept_latents.h"
#include "workloads/latent_diffusion/diffusion/sample_grid.h"

namespace larmor::latent_diffusion {

namespace {

constexpr const char* earlier_stage = "autoencoder";

/// Throws Error (data) unless both networks take the example's image and, where there is one, its label.
void check_images(const DiffusionConfig& config, const AutoencoderConfig& autoencoder, const Sample& example,
                  Split split) {
  const auto label = example.find("label");
  int64_t channels = example.at("image").size(0);
  if (config.is_conditioned()) {
    if (label == example.end())
      fail(Exit::data, "has no label, and model.condition=concat learns to make the label of the image",
           example.contains(label_as_mask)
               ? "its label is a mask by its name: call the file otherwise if it is an image"
               : "give pairs (data.kind=npz, or a list with the columns image and label), or "
                 "model.condition=none");
    if (label->second.sizes() != example.at("image").sizes())
      fail(Exit::data, "has an image and a label of different shapes",
           "bring both to one grid with data.grids=resample");
  } else if (channels != autoencoder.network.in_channels && label != example.end()) {
    channels += label->second.size(0);  // both scans of a pair
  }
  autoencoder.check_channels(channels);
  check_sizes(example, autoencoder.network.size_divisor() * config.network.size_divisor());
  if (config.is_conditioned() && split != Split::train)
    check_least(example, least_for_ssim(nn::SsimOptions{}.window));
}

/// Posteriors of one case's images by the autoencoder of a run.
EncodeCase encode_by(const EarlierRuns& runs, const DiffusionConfig& config,
                     const AutoencoderConfig& autoencoder) {
  auto trained = runs.read(earlier_stage).task();
  place(*trained, c10::kCPU, Precision::fp32);  // as images are
  const auto space = std::make_shared<const LatentSpace>(std::move(trained));
  return [space, config, autoencoder](const Sample& images) -> Sample {
    check_images(config, autoencoder, images, Split::train);
    const Batch batch = collate({images}, {ExampleKey{}});
    const auto posterior = [&](const at::Tensor& image) { return space->posterior(image)[0].contiguous(); };
    if (!config.is_conditioned()) return {{kept_latent::target, posterior(space->image_of(batch))}};
    return {{kept_latent::target, posterior(batch.at("label"))},
            {kept_latent::condition, posterior(batch.at("image"))}};
  };
}

}  // namespace

WorkloadFields DiffusionStage::fields() {
  return {.data = [this](Fields& f) { phantom_pairs_.describe(f); },
          .data_keys = {{"phantom", {"low_counts"}}},
          .model = [this](Fields& f) { config_.describe_model(f); },
          .loss = [this](Fields& f) { config_.describe_loss(f); },
          .objectives = {}};
}

void DiffusionStage::check(const RunConfig& config) const {
  config_.check();
  const TransformChain chain(training_chain(config.data.transforms)),
      validation(validation_chain(config.data.transforms));
  if (config_.keeps_latents() && chain.is_random())
    fail(Exit::usage,
         "model.latents=kept, and data.transforms has random steps: each visit would have another latent",
         "take CenterSpatialCrop in place of a random crop, or say model.latents=encoded");
  for (const auto size : chain.size_after({})) check_crop(size, config_.network.size_divisor());
}

const AutoencoderConfig& DiffusionStage::autoencoder() const {
  std::call_once(autoencoder_read_, [this] {
    autoencoder_ = earlier()->stage_as<AutoencoderStage>(earlier_stage)->own_config();
    autoencoder_.perceptual_network.clear();  // it is trained no further
  });
  return autoencoder_;
}

void DiffusionStage::check_start(const Sample& first) const {
  config_.check_latent(autoencoder().network);
  check_example(first, Split::train);
  const int64_t factor = autoencoder().network.size_divisor();
  const auto kept = first.find(kept_latent::target);
  std::vector<int64_t> latent =
      (kept == first.end() ? first.at("image") : kept->second).sizes().slice(1).vec();
  if (kept == first.end())
    for (int64_t& size : latent) size /= factor;
  config_.check_window(latent, factor);
}

void DiffusionStage::check_example(const Sample& example, Split split) const {
  if (example.contains(kept_latent::target)) return;  // its images were looked at before they were encoded
  check_images(config_, autoencoder(), example, split);
}

Sample DiffusionStage::example_to_count(const std::vector<int64_t>& window) const {
  const nn::AutoencoderKlOptions& theirs = autoencoder().network;
  Sample example = image_to_count(theirs.in_channels, window);
  if (!config_.keeps_latents()) {
    if (config_.is_conditioned()) example["label"] = example.at("image");
    return example;
  }
  std::vector<int64_t> latent{2 * theirs.latent_channels};
  for (const int64_t size : example.at("image").sizes().slice(1))
    latent.push_back(size / theirs.size_divisor());
  Sample kept{{kept_latent::target, at::empty(latent, at::kMeta)}};
  if (config_.is_conditioned()) kept[kept_latent::condition] = kept.at(kept_latent::target);
  return kept;
}

Demand DiffusionStage::demand(const RunConfig& config, const Index& index) const {
  const AutoencoderConfig& theirs = autoencoder();
  const auto size = size_of_example(config, index, extent_of_phantoms(config.data),
                                    theirs.network.size_divisor() * config_.network.size_divisor());
  DiffusionTask trial(config_, /*seed=*/0,
                      std::make_unique<AutoencoderTask>(theirs, /*seed=*/0, size, c10::kMeta),
                      {.window = size}, c10::kMeta);
  auto demand =
      count_demand(config, index, training_chain(config.data.transforms), trial, example_to_count(size));
  demand.preferred_micro_batch = 2;
  if (config.track.pictures_every.amount != 0) {
    const at::Tensor image = image_to_count(theirs.network.in_channels, size).at("image").unsqueeze(0);
    count_sampling(trial, [&] { trial.count_sample(image); }, demand);
  }
  return demand;
}

std::unique_ptr<Dataset> DiffusionStage::dataset(const RunConfig& config, const Index& index,
                                                 Split split) const {
  if (config_.keeps_latents() && split == Split::train) return latents(config, index);
  return volume_dataset(config, index, split, {}, phantom_pairs_.maker(config.data));
}

// A run with another autoencoder, or with other transforms, finds nothing of this one's under its own key.
std::unique_ptr<Dataset> DiffusionStage::latents(const RunConfig& config, const Index& index) const {
  const Json declared = training_chain(config.data.transforms);
  const auto chain = std::make_shared<const TransformChain>(declared);
  const auto runs = earlier();
  auto source = encoded(
      deterministic(
          case_volumes(config.data, index, Split::train, declared, {}, phantom_pairs_.maker(config.data)),
          chain),
      [runs, own = config_, theirs = autoencoder()] { return encode_by(*runs, own, theirs); });
  if (index.is_invented()) {
    const auto all = static_cast<std::size_t>(source->cases());
    return transformed(recent(std::move(source), all), chain, ChainPart::random);
  }
  DataConfig data = config.data;
  data.cache = "full";
  Json key{{"transforms", chain->deterministic_declaration()},
           {"autoencoder", runs->sources().at(earlier_stage).hash()},
           {"condition", config_.is_conditioned()}};
  return transformed(kept(std::move(source), data, std::move(key)), chain, ChainPart::random);
}

std::unique_ptr<Dataset> DiffusionStage::training_cases(const RunConfig& config, const Index& index,
                                                        const std::string& cache) const {
  DataConfig data = config.data;
  data.cache = cache;
  return make_volume_dataset(data, index, Split::train, validation_chain(data.transforms), {},
                             phantom_pairs_.maker(data));
}

std::map<std::string, std::string> DiffusionStage::keeps(const RunConfig& config, const Index& index) const {
  if (config_.is_conditioned()) return {};  // a translation lies where its scan does
  return kept_grid(*training_cases(config, index, "none"), static_cast<uint64_t>(config.run.seed));
}

std::unique_ptr<Dataset> DiffusionStage::reference(const RunConfig& config, const Index& index,
                                                   ValidationDepth depth) const {
  const bool is_quick = depth == ValidationDepth::quick;
  if (is_quick && (config_.is_conditioned() || config.track.pictures_every.amount == 0)) return nullptr;
  // What a picture is held against is read once a start; the window of a smart cache is training's.
  const bool is_kept = !is_quick && config.data.cache != "smart";
  constexpr int64_t most_beside_pictures = 64;
  return some_cases(training_cases(config, index, is_kept ? config.data.cache : "none"),
                    is_quick ? most_beside_pictures : 0);
}

std::unique_ptr<Task> DiffusionStage::task(const RunConfig& config, const Index&) const {
  return std::make_unique<DiffusionTask>(config_, static_cast<uint64_t>(config.run.seed),
                                         earlier()->read(earlier_stage).task(),
                                         sample_grid(config, kept_files()));
}

PredictionForm DiffusionStage::prediction(const RunConfig& config) const {
  PredictionForm form{.inputs = {}, .volumes = {DiffusionTask::output_name}, .draws = true};
  form.units = text("as data.transforms scale the ", config_.is_conditioned() ? "label" : "image");
  if (!config_.is_conditioned()) return form;
  form.inputs = {{.name = DiffusionTask::condition_name}};
  form.transforms = prediction_chain(config.data.transforms);
  form.channels = {DiffusionTask::condition_name};  // in training it is the image, beside the label
  return form;
}

}  // namespace larmor::latent_diffusion
