#include "workloads/latent_diffusion/autoencoder/autoencoder_stage.h"

#include <utility>

#include "larmor/base/files/file.h"
#include "larmor/base/text.h"
#include "larmor/nn/metrics/image_metrics.h"

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

std::vector<std::string> AutoencoderStage::remarks(const RunConfig&) const {
  if (config_.perceptual_weight <= 0 || !config_.perceptual_network.empty()) return {};
  return {text("loss.perceptual_weight is ", config_.perceptual_weight,
               ", and there is no perceptual network: the term is left out. "
               "loss.perceptual_network=FILE.safetensors (torchvision's squeezenet1_1) or "
               "loss.perceptual_network=random gives it one, loss.perceptual_weight=0 does without")};
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

ImageForm AutoencoderStage::form() const {
  config_.check();
  ImageForm form{
      .channels = {.count = config_.network.in_channels,
                   .keys = {"model.in_channels", "model.out_channels"},
                   .with_label = true},
      .divisor = config_.network.size_divisor(),
      .least_sizes = {least_for_ssim(nn::SsimOptions{}.window)},
      .weights = {{"model.weights", config_.weights},
                  {"loss.perceptual_network", with_kept_network().perceptual_file()}},
      .validation = validation_,
      .volumes =
          [pairs = phantom_pairs_](const DataConfig& data) { return MadeVolumes{.make = pairs.maker(data)}; },
      .batches = {.micro_batch = 2, .examples_of_one = scans_ == Scans::both ? 2 : 1},
      .judge = [](Task& task,
                  const at::Tensor& images) { dynamic_cast<AutoencoderTask&>(task).judge(images); },
      .output = AutoencoderTask::output_name};
  constexpr auto least = nn::SqueezeNetFeatures::least_size;
  if (config_.is_perceptual())
    form.least_sizes.push_back(
        {.voxels = least,
         .why = text("the perceptual network looks at slices of ", least, " pixels and more"),
         .instead = "leave loss.perceptual_network empty"});
  return form;
}

std::unique_ptr<Task> AutoencoderStage::make_task(const RunConfig&, const Index&,
                                                  const TaskSetting& setting) const {
  return std::make_unique<AutoencoderTask>(with_kept_network(), setting.seed, setting.window, setting.device,
                                           setting.validation);
}

std::unique_ptr<Dataset> AutoencoderStage::dataset(const RunConfig& config, const Index& index,
                                                   Split split) const {
  auto cases = ImageStage::dataset(config, index, split);
  return scans_ == Scans::both ? each_scan(std::move(cases)) : std::move(cases);
}

}  // namespace larmor::latent_diffusion
