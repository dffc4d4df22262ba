#include "workloads/latent_diffusion/workload.h"

#include <filesystem>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/order.h"
#include "larmor/data/volume_dataset.h"
#include "larmor/device/module_state.h"
#include "larmor/nn/image_metrics.h"
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

// Bytes that backward keeps for one voxel of the input: at each level every residual block keeps about
// eight maps of its channels, at an eighth of the voxels of the level above; encoder and decoder alike.
double activation_floats_per_voxel(const nn::AutoencoderKlOptions& network) {
  constexpr double maps_per_block = 8;
  double floats = 0, share = 1;
  for (size_t level = 0; level < network.channels.size(); ++level) {
    const auto blocks = static_cast<double>(network.res_blocks(level));
    floats += 2 * share * maps_per_block * (blocks + 0.5) * static_cast<double>(network.channels[level]);
    share /= 8;
  }
  return floats;
}

Demand LatentDiffusion::demand(const RunConfig& config, const Index& index) const {
  Demand demand;
  AutoencoderTask trial(autoencoder_, /*seed=*/0);
  for (const auto& objective : trial.objectives()) demand.parameters += parameter_count(*objective.network);
  constexpr int64_t float_bytes = 4;
  const auto cases = static_cast<int64_t>(index.of(Split::train).size());
  const auto crops = TransformChain(training_transforms(config)).samples_per_volume();
  demand.training_examples =
      cases > 0 ? make_order(config.data, /*seed=*/0, cases * crops, crops).examples() : 0;
  demand.model_bytes = demand.parameters * float_bytes;
  demand.optimizer_bytes = demand.model_bytes * (config.optim.ema_decay > 0 ? 3 : 2);
  int64_t voxels = 1;
  for (const auto size : prediction_window(config)) voxels *= size;
  demand.sample_bytes = voxels * autoencoder_.network.in_channels * float_bytes;
  demand.activation_bytes_per_sample = static_cast<int64_t>(
      activation_floats_per_voxel(autoencoder_.network) * static_cast<double>(voxels * float_bytes));
  demand.preferred_micro_batch = 2;
  return demand;
}

}  // namespace

std::unique_ptr<Workload> make_workload() { return std::make_unique<LatentDiffusion>(); }

}  // namespace larmor::latent_diffusion
