#include "workloads/latent_diffusion/autoencoder/autoencoder_stage.h"

#include <algorithm>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"
#include "larmor/measure/demand_count.h"
#include "larmor/measure/validation_count.h"
#include "larmor/nn/metrics/image_metrics.h"
#include "larmor/task/volume_stage.h"
#include "larmor/transforms/declared_chain.h"

#include "workloads/latent_diffusion/autoencoder/autoencoder_task.h"
#include "workloads/latent_diffusion/scans/each_scan.h"

namespace larmor::latent_diffusion {
namespace {

constexpr const char* kept_perceptual = "perceptual_network.safetensors";

}  // namespace

WorkloadFields AutoencoderStage::fields() {
  return {.data =
              [this](Fields& f) {
                phantom_pairs_.describe(f);
                f.choice("scans", scans_, {{"image", Scans::image}, {"both", Scans::both}},
                         "of pairs: image: the first scan alone is learned, as the guide does; both: image "
                         "and label are examples of their own, so that either can be given back");
              },
          .data_keys = {{"phantom", {"low_counts"}}},
          .model = [this](Fields& f) { config_.describe_model(f); },
          .loss = [this](Fields& f) { config_.describe_loss(f); },
          .validation = [this](Fields& f) { validation_.describe(f); },
          .objectives = {"generator", "discriminator"}};
}

void AutoencoderStage::check(const RunConfig& config) const {
  config_.check();
  check_chains(config);
  const auto divisor = config_.network.size_divisor();
  for (const auto size : training_crop(config.data.transforms)) {
    check_crop(size, divisor);
    check_crop_for_slices(size);
  }
  check_windows(validation_, divisor);
  if (validation_.of_whole_cases()) return;
  for (const auto size : validation_crop(config.data.transforms)) {
    check_crop(size, divisor);
    check_crop_for_slices(size);
    const auto window = nn::SsimOptions{}.window;
    if (size >= window) continue;
    fail(Exit::usage,
         text("data.transforms crops ", size, " voxels for validation, whose SSIM looks at ", window,
              " at once"),
         text("crop at least ", window, ", or give RandSpatialCrop a validation_roi_size"));
  }
}

std::vector<std::string> AutoencoderStage::remarks(const RunConfig&) const {
  if (config_.perceptual_weight <= 0 || !config_.perceptual_network.empty()) return {};
  return {text("loss.perceptual_weight is ", config_.perceptual_weight,
               ", and there is no perceptual network: the term is left out. "
               "loss.perceptual_network=FILE.safetensors (torchvision's squeezenet1_1) or "
               "loss.perceptual_network=random gives it one, loss.perceptual_weight=0 does without")};
}

void AutoencoderStage::check_crop_for_slices(int64_t size) const {
  constexpr auto least = nn::SqueezeNetFeatures::least_size;
  if (!config_.is_perceptual() || size >= least) return;
  fail(Exit::usage,
       text("data.transforms crops ", size, " voxels, and the perceptual network looks at slices of ", least,
            " pixels and more"),
       "crop more, or leave loss.perceptual_network empty");
}

AutoencoderConfig AutoencoderStage::with_kept_network() const {
  AutoencoderConfig config = config_;
  const auto kept = kept_files().find(kept_perceptual);
  if (kept != kept_files().end()) config.perceptual_network = kept->second.string();
  return config;
}

std::map<std::string, std::string> AutoencoderStage::keeps(const RunConfig&, const Index&) const {
  const auto file = with_kept_network().perceptual_file();
  if (file.empty()) return {};
  return {{kept_perceptual, read_text(file)}};
}

void AutoencoderStage::check_channels(const Sample& example) const {
  const int64_t channels = example.at("image").size(0);
  const auto label = example.find("label");
  const bool pair = channels != config_.network.in_channels && label != example.end();
  config_.check_channels(pair ? channels + label->second.size(0) : channels);
}

void AutoencoderStage::check_example(const Sample& example, Split split) const {
  check_channels(example);
  const bool is_whole = split != Split::train && validation_.of_whole_cases();
  if (!is_whole) check_sizes(example, config_.network.size_divisor());
  if (split == Split::train) return;
  check_size_for_ssim(example, nn::SsimOptions{}.window);
  check_size_for_slices(example);
}

void AutoencoderStage::check_size_for_slices(const Sample& example) const {
  constexpr auto least = nn::SqueezeNetFeatures::least_size;
  const auto sizes = example.at("image").sizes().slice(1);
  const auto smallest = *std::min_element(sizes.begin(), sizes.end());
  if (!config_.is_perceptual() || smallest >= least) return;
  fail(Exit::data,
       text("has ", smallest, " voxels along an axis, and the perceptual network looks at slices of ", least,
            " pixels and more"),
       "leave it out with data.exclude, or leave loss.perceptual_network empty");
}

void AutoencoderStage::check_start(const Sample& first) const {
  check_channels(first);
  check_weights(config_.weights);
  const auto file = with_kept_network().perceptual_file();
  if (!file.empty() && !std::filesystem::is_regular_file(file))
    fail(Exit::usage, text("there is no file ", file), "check loss.perceptual_network");
}

std::vector<int64_t> planned_window(const RunConfig& config) {
  const bool has_steps = !config.data.transforms.empty();  // one of which may give another size
  return has_steps || config.data.kind != "phantom" ? training_window(config) : config.data.phantom_size;
}

Demand AutoencoderStage::demand(const RunConfig& config, const Index& index) const {
  const auto size = size_of_example(config, index, planned_window(config), config_.network.size_divisor());
  AutoencoderTask trial(config_, /*seed=*/0, size, c10::kMeta);
  const auto image = image_to_count(config_.network.in_channels, size);
  auto demand = count_demand(config, index, training_chain(config.data.transforms), trial, image);
  demand.preferred_micro_batch = 2;
  if (scans_ == Scans::both) demand.training_examples *= 2;
  if (validation_.of_whole_cases() && !index.of(Split::val).empty()) {
    AutoencoderTask judging(config_, /*seed=*/0, training_window(config), c10::kMeta, validation_);
    count_validation(
        judging, config_.network.in_channels, largest_case(config, index), validation_,
        [&](const at::Tensor& images) { judging.judge(images); }, demand);
  }
  return demand;
}

std::unique_ptr<Dataset> AutoencoderStage::dataset(const RunConfig& config, const Index& index,
                                                   Split split) const {
  auto cases = volume_dataset(config, index, split, {}, phantom_pairs_.maker(config.data), validation_);
  if (scans_ == Scans::image) return cases;
  return each_scan(std::move(cases));
}

std::unique_ptr<Task> AutoencoderStage::task(const RunConfig& config, const Index&) const {
  return std::make_unique<AutoencoderTask>(with_kept_network(), static_cast<uint64_t>(config.run.seed),
                                           training_window(config), c10::kCPU, validation_);
}

PredictionForm AutoencoderStage::prediction(const RunConfig& config) const {
  return {.inputs = {{.name = "image"}},
          .transforms = prediction_chain(config.data.transforms),
          .volumes = {AutoencoderTask::output_name},
          .pairs_are_images = config_.network.in_channels == 2,
          .units = prediction_chain(config.data.transforms).empty() ? "those of the input"
                                                                    : "as data.transforms scale the image"};
}

}  // namespace larmor::latent_diffusion
