#include "workloads/xray_to_ct/stage/cascade_stage.h"

#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/some_cases.h"
#include "larmor/kernels/projector/projector.h"
#include "larmor/measure/demand_count.h"
#include "larmor/run/earlier/earlier_run.h"
#include "larmor/task/networks.h"
#include "larmor/task/volume_stage.h"

#include "workloads/xray_to_ct/data/pair_dataset.h"
#include "workloads/xray_to_ct/data/pair_folder.h"
#include "workloads/xray_to_ct/stage/earlier_samples.h"

namespace larmor::xray_to_ct {
namespace {

PairConfig without_augmentation(PairConfig pairs) {
  pairs.augmentation = false;
  return pairs;
}

std::unique_ptr<CascadeTask> shapes_of(const CascadeConfig& config, std::unique_ptr<CascadeTask> before) {
  return std::make_unique<CascadeTask>(config, /*seed=*/0, std::move(before), CascadeTask::MeanVolume(),
                                       c10::kMeta);
}

/// Of the stage before `later` and those before it, all with their defaults.
std::unique_ptr<CascadeTask> default_shapes_before(const CascadeConfig& later) {
  if (!later.follows_another()) return nullptr;
  CascadeConfig before(later.stage - 1);
  before.views = later.views;
  before.pairs = later.pairs;
  return shapes_of(before, default_shapes_before(before));
}

/// Mean of the training cases' volumes; what is thrown of a single case leaves that one out.
at::Tensor mean_volume_of(const Dataset& cases) {
  at::Tensor sum;
  int64_t count = 0;
  for (int64_t example = 0; example < cases.size(); ++example) {
    try {
      const at::Tensor volume = cases.get({.seed = 0, .epoch = 0, .example = example}).at(pair::volume);
      sum = sum.defined() ? sum + volume.to(at::kDouble) : volume.to(at::kDouble);
      ++count;
    } catch (const Error& error) {
      if (error.exit() != Exit::data) throw;
    }
  }
  return count == 0 ? sum : sum / static_cast<double>(count);
}

}  // namespace

std::string CascadeStage::earlier_stage() const { return text("stage", config_.stage - 1); }

WorkloadFields CascadeStage::fields() {
  return {.data = [this](Fields& f) { config_.describe_data(f); },
          .data_kinds = {pairs_kind},
          .data_keys = {{pairs_kind,
                         {"folder", "ct", "layout", "patient_pattern", "include", "exclude", "align_at_least",
                          "flip_vertical", "least_height", "most_spacing", "volume_size"}}},
          .model = [this](Fields& f) { config_.describe_model(f); },
          .loss = [this](Fields& f) { config_.describe_loss(f); },
          .objectives = {}};
}

void CascadeStage::check(const RunConfig& config) const { config_.check(config); }

void CascadeStage::check_start(const Sample& first) const {
  if (config_.follows_another()) config_.check_earlier(earlier_run()->own_config());
  check_example(first, Split::train);
}

void CascadeStage::check_example(const Sample& example, Split /*split*/) const {
  const auto views = example.at(pair::radiographs).size(0);
  if (views != config_.view_count())
    fail(Exit::data, text("has ", views, " radiographs, and the model takes ", join(config_.views, " and ")),
         "leave the case out with data.exclude, or train with model.views=[pa]");
  const int64_t size = config_.network.volume_size;
  const at::Tensor& volume = example.at(pair::volume);
  if (volume.sizes() == at::IntArrayRef({1, size, size, size})) return;
  fail(Exit::data, text("has a volume of another size than ", size, " voxels an axis"),
       "check the case's files");
}

Index CascadeStage::index(const RunConfig& config) const { return pair_index(config, config_.pairs); }

Index CascadeStage::found(const RunConfig& config) const {
  RunConfig all = config;
  all.data = without_splits(config.data);
  return pair_index(all, config_.pairs);
}

std::unique_ptr<const CascadeStage> CascadeStage::earlier_run() const {
  return earlier()->stage_as<CascadeStage>(earlier_stage());
}

std::unique_ptr<CascadeTask> CascadeStage::on_meta() const {
  return shapes_of(config_, config_.follows_another() ? earlier_run()->on_meta() : nullptr);
}

std::unique_ptr<CascadeTask> CascadeStage::earlier_on_meta(const RunConfig& config) const {
  if (!config_.follows_another()) return nullptr;
  const auto named = config.from.find(earlier_stage());
  const bool is_named = named != config.from.end() && !named->second.empty();
  return is_named ? earlier_run()->on_meta() : default_shapes_before(config_);
}

Demand CascadeStage::demand(const RunConfig& config, const Index& index) const {
  const int64_t size = config_.network.volume_size, pixels = config_.pairs.radiograph_size;
  const int64_t views = config_.view_count();
  const auto like = at::TensorOptions(at::kMeta).dtype(at::kFloat);
  Sample example{{pair::volume, at::empty({1, size, size, size}, like)},
                 {pair::radiographs, at::empty({views, 1, pixels, pixels}, like)},
                 {pair::rays, at::empty({views, ray_numbers}, like.dtype(at::kDouble))},
                 {pair::intensity, at::empty({views, 2}, like)},
                 {pair::mirrored, at::empty({}, like.dtype(at::kBool))}};
  auto before = earlier_on_meta(config);
  if (before != nullptr) {
    const int64_t given = before->config().network.volume_size;
    example[CascadeTask::earlier_name] = at::empty({1, given, given, given}, like);
  }
  const auto trial = shapes_of(config_, std::move(before));
  Demand demand = count_demand(config, index, Json::array(), *trial, example);
  demand.preferred_micro_batch = 4;
  return demand;
}

std::unique_ptr<Dataset> CascadeStage::dataset(const RunConfig& config, const Index& index,
                                               Split split) const {
  const auto pairs_of = [&](const PairConfig& pairs) {
    return pair_dataset(config, pairs, index, split, config_.network.volume_size, config_.view_count());
  };
  auto examples = pairs_of(config_.pairs);
  if (!config_.follows_another()) return examples;
  const auto runs = earlier();
  const std::string name = earlier_stage();
  EarlierSampling sampling{
      .hash = runs->sources().at(name).hash(), .count = config_.earlier.samples, .make = {}};
  sampling.make = [runs, name] {
    std::shared_ptr<CascadeTask> before = runs->task_as<CascadeTask>(name);
    place(*before, c10::kCPU, Precision::fp32);  // as radiographs are
    return [before](const at::Tensor& radiographs) { return before->sample({.xrays = radiographs}); };
  };
  return with_earlier_samples(std::move(examples), pairs_of(without_augmentation(config_.pairs)),
                              std::move(sampling), config.data, /*draws_one=*/split == Split::train,
                              /*in_memory=*/index.is_invented() && config.data.cache == "none");
}

void CascadeStage::prepare(const RunConfig& config, const Index& index, PrepareContext& context) const {
  if (config_.pairs.ct.empty()) Stage::prepare(config, index, context);
  if (config.data.kind == pairs_kind) prepare_pairs(config, config_.pairs, index, context);
}

std::unique_ptr<CascadeTask> CascadeStage::earlier_task() const {
  return config_.follows_another() ? earlier()->task_as<CascadeTask>(earlier_stage()) : nullptr;
}

std::unique_ptr<Task> CascadeStage::task(const RunConfig& config, const Index& index) const {
  CascadeTask::MeanVolume mean;
  if (!index.of(Split::train).empty()) {
    mean = [config, index, own = config_] {
      auto cases = pair_dataset(config, without_augmentation(own.pairs), index, Split::train,
                                own.network.volume_size, own.view_count());
      return mean_volume_of(*some_cases(std::move(cases), own.baseline_cases));
    };
  }
  return std::make_unique<CascadeTask>(config_, static_cast<uint64_t>(config.run.seed), earlier_task(),
                                       std::move(mean));
}

PredictionForm CascadeStage::prediction(const RunConfig& /*config*/) const {
  PredictionForm form{
      .inputs = {},
      .volumes = {CascadeTask::output_name},
      .draws = true,
      .cases_of_folder = radiographs_in,
      .why_not_mirrored = "the volume is made from where the rays of its radiographs come from",
      .units = "HU"};
  for (const std::string& view : config_.views) form.inputs.push_back({.name = view});
  return form;
}

}  // namespace larmor::xray_to_ct
