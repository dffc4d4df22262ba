#include "workloads/xray_to_ct/stage/cascade_config.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/nn/networks/cascade_vit/cascade_vit.h"
#include "larmor/nn/networks/hybrid_vit/hybrid_vit.h"

namespace larmor::xray_to_ct {
namespace {

using View = std::vector<std::string>;

nn::HybridVitOptions reference_options(const CascadeConfig& config) {
  return {.stages = {{.name = text("stage", config.stage),
                      .volume_size = config.network.volume_size,
                      .voxel_dim = config.network.voxel_dim,
                      .vit_depth = config.network.vit_depth,
                      .num_heads = config.network.num_heads,
                      .follows_another = config.follows_another()}},
          .token_grid = config.token_grid,
          .dropout = config.network.dropout};
}

nn::CascadeVitOptions own_options(const CascadeConfig& config) {
  nn::CascadeVitOptions options = config.network;
  options.follows_another = config.follows_another();
  options.view_angles = config.views.size() == 1 ? std::vector<double>{0} : std::vector<double>{0, 90};
  return options;
}

}  // namespace

void EarlierVolumeConfig::describe(Fields& f) {
  f.field("samples", samples, "samples of the earlier stage that are made and kept for each case",
          at_least_one);
  f.field("truth_share", truth_share, "share of training examples that see a blurred truth instead",
          fraction);
  f.field("noise", noise, "most noise that training adds to it, as a standard deviation", at_least_zero);
  f.field("sampling_noise", sampling_noise, "noise that sampling adds to it", at_least_zero);
}

// The guide's three stages.
CascadeConfig::CascadeConfig(int64_t number) : stage(number) {
  network.volume_size = int64_t{64} << (number - 1);
  sampling.timestep_spacing = nn::TimestepSpacing::trailing;
  if (number == 2) {
    network.channels = {64, 128, 256};
    network.voxel_dim = 384;
    network.vit_depth = network.num_heads = 6;
    physics_weight = 0.4;
  } else if (number > 2) {
    network.patch_size = 4;
    network.channels = {96, 192, 384};
    network.voxel_dim = 512;
    network.vit_depth = network.num_heads = 8;
    physics_weight = 0.5;
  }
}

void CascadeConfig::describe_model(Fields& f) {
  f.choice(
      "head", head, {{"patches", Head::patches}, {"reference", Head::reference}},
      "patches: every voxel has an output of its own; reference: the published network, one number a token");
  f.field("views", views, "radiographs that the network takes: [pa], or [pa, lateral]");
  network.describe(f);
  f.field("token_grid", token_grid, "tokens an axis of head=reference", at_least_one);
  f.section("noise", [this](Fields& inner) { noise.describe(inner); });
  nn::describe(f, prediction_type);
  f.section("sampling", [this](Fields& inner) {
    sampling.describe(inner);
    inner.field("guidance", guidance,
                "how far each step moves towards volumes whose radiographs are the measured ones; 0: not",
                at_least_zero);
    inner.field("samples", judged_samples,
                "volumes that evaluate samples of each case; of several it also judges mean and deviation",
                at_least_one);
  });
  if (follows_another()) f.section("earlier", [this](Fields& inner) { earlier.describe(inner); });
}

void CascadeConfig::describe_loss(Fields& f) {
  times.describe(f);
  f.field("min_snr_gamma", min_snr_gamma,
          "errors count as min(signal-to-noise ratio, this) of the volume's; 0: all times alike",
          at_least_zero);
  f.field("physics_weight", physics_weight,
          "weight of the difference between the prediction's radiographs and the measured ones",
          at_least_zero);
  f.field("baseline_cases", baseline_cases,
          "training cases whose mean volume psnr_mean_volume is measured with; 0: all", at_least_zero);
}

void CascadeConfig::check(const RunConfig& config) const {
  if (views != View{"pa"} && views != View{"pa", "lateral"})
    fail(Exit::usage, text("model.views is [", join(views, ", "), "]"), "say [pa], or [pa, lateral]");
  pairs.check(config, view_count());
  if (head == Head::reference) {
    reference_options(*this).check();
  } else {
    own_options(*this).check();
  }
  const nn::NoiseSchedule schedule(noise);
  nn::check(prediction_type, schedule);
  times.check(schedule);
  sampling.check(schedule);
}

void CascadeConfig::check_earlier(const CascadeConfig& before) const {
  const std::string name = text("from.stage", before.stage);
  if (before.views != views)
    fail(
        Exit::usage,
        text(name, " takes the views [", join(before.views, ", "), "], and model.views is [",
             join(views, ", "), "]"),
        text("say model.views=[", join(before.views, ","), "], or train stage", before.stage, " with these"));
  if (before.network.volume_size > network.volume_size)
    fail(Exit::usage,
         text(name, " gives volumes of ", before.network.volume_size, " voxels an axis, and this stage has ",
              network.volume_size),
         text("set model.volume_size to ", before.network.volume_size, " or more"));
  if (before.pairs.radiograph_size != pairs.radiograph_size)
    fail(Exit::usage,
         text(name, " takes radiographs of ", before.pairs.radiograph_size,
              " pixels, and data.radiograph_size is ", pairs.radiograph_size),
         text("say data.radiograph_size=", before.pairs.radiograph_size));
  if (before.pairs.hu_range != pairs.hu_range || before.pairs.extent != pairs.extent)
    fail(Exit::usage, text(name, " has another data.hu_range or data.extent than this stage"),
         "give all stages of a cascade the same");
}

std::shared_ptr<nn::CascadeNetwork> CascadeConfig::make_network(c10::Device device) const {
  if (head == Head::reference) return std::make_shared<nn::HybridVitImpl>(reference_options(*this), device);
  return std::make_shared<nn::CascadeVitImpl>(own_options(*this), device);
}

}  // namespace larmor::xray_to_ct
