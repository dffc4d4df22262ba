#include "workloads/latent_diffusion/workload.h"

#include <filesystem>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/volume_dataset.h"
#include "larmor/nn/image_metrics.h"
#include "larmor/train/demand_count.h"
#include "larmor/transforms/declared_chain.h"
#include "larmor/transforms/transforms.h"

#include "workloads/latent_diffusion/autoencoder_config.h"
#include "workloads/latent_diffusion/autoencoder_task.h"

namespace larmor::latent_diffusion {

namespace {

constexpr const char* autoencoder_stage = "autoencoder";

class LatentDiffusion final : public Workload {
 public:
  std::string name() const override { return "latent_diffusion"; }
  std::vector<std::string> stages() const override { return {autoencoder_stage}; }

  WorkloadFields fields(const std::string&) override {
    autoencoder_ = {};
    return {.model = [this](Fields& f) { autoencoder_.describe_model(f); },
            .loss = [this](Fields& f) { autoencoder_.describe_loss(f); },
            .objectives = {"generator", "discriminator"}};
  }

  void check(const RunConfig& config) const override {
    autoencoder_.check();
    const TransformChain training(training_chain(config.data.transforms));
    const TransformChain validation(validation_chain(config.data.transforms));
    for (const auto size : training_crop(config.data.transforms)) check_crop(size);
    for (const auto size : validation_crop(config.data.transforms)) {
      check_crop(size);
      const auto window = nn::SsimOptions{}.window;
      if (size >= window) continue;
      fail(Exit::usage,
           text("data.transforms crops ", size, " voxels for validation, whose SSIM looks at ", window,
                " at once"),
           text("crop at least ", window, ", or give RandSpatialCrop a validation_roi_size"));
    }
  }

  void check_start(const Sample& first) const override {
    const int64_t channels = first.at("image").size(0);
    const auto label = first.find("label");
    const bool pair = channels != autoencoder_.network.in_channels && label != first.end();
    autoencoder_.check_channels(pair ? channels + label->second.size(0) : channels);
    if (!autoencoder_.weights.empty() && !std::filesystem::is_regular_file(autoencoder_.weights))
      fail(Exit::usage, text("there is no file ", autoencoder_.weights), "check model.weights");
  }

  Demand demand(const RunConfig& config, const Index& index) const override;

  std::unique_ptr<Dataset> dataset(const RunConfig& config, const Index& index, Split split) const override {
    const auto& declared = config.data.transforms;
    const auto chain = split == Split::train ? training_chain(declared) : validation_chain(declared);
    return make_volume_dataset(config.data, index, split, chain);
  }

  std::unique_ptr<Task> task(const RunConfig& config, const Index&) const override {
    return std::make_unique<AutoencoderTask>(autoencoder_, static_cast<uint64_t>(config.run.seed));
  }

  Json training_transforms(const RunConfig& config) const override {
    return training_chain(config.data.transforms);
  }

  Json prediction_transforms(const RunConfig& config) const override {
    return prediction_chain(config.data.transforms);
  }

  std::vector<int64_t> prediction_window(const RunConfig& config) const override {
    const auto crop = training_crop(config.data.transforms);
    return crop.empty() ? std::vector<int64_t>{64, 64, 64} : crop;
  }

 private:
  void check_crop(int64_t size) const {
    const auto divisor = autoencoder_.network.size_divisor();
    if (size % divisor == 0) return;
    const auto smaller = size / divisor * divisor;
    fail(Exit::usage,
         text("data.transforms crops ", size, " voxels, and this network needs a multiple of ", divisor),
         text("crop ", smaller > 0 ? text(smaller, " or ") : "", smaller + divisor));
  }

  AutoencoderConfig autoencoder_;
};

Demand LatentDiffusion::demand(const RunConfig& config, const Index& index) const {
  AutoencoderTask trial(autoencoder_, /*seed=*/0);
  const auto image = image_to_count(autoencoder_.network.in_channels, prediction_window(config));
  auto demand = count_demand(config, index, training_transforms(config), trial, image);
  demand.preferred_micro_batch = 2;
  return demand;
}

}  // namespace

std::unique_ptr<Workload> make_workload() { return std::make_unique<LatentDiffusion>(); }

}  // namespace larmor::latent_diffusion
