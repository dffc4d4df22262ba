#include "larmor/measure/image_stage.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/some_cases.h"
#include "larmor/data/volume_dataset.h"
#include "larmor/measure/demand_count.h"
#include "larmor/measure/validation_count.h"
#include "larmor/task/example_size.h"
#include "larmor/transforms/declared_chain.h"
#include "larmor/transforms/mask_name.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

namespace {

MadeVolumes volumes_of(const ImageForm& form, const DataConfig& data) {
  MadeVolumes made = form.volumes ? form.volumes(data) : MadeVolumes{};
  if (made.extent.size == GridSize{}) made.extent = extent_of_phantoms(data);
  return made;
}

bool sees_whole_cases(const ImageForm& form, Split split) {
  return split != Split::train && form.validation.of_whole_cases();
}

Json chain_for(const ImageForm& form, const Json& declared, Split split) {
  if (split == Split::train) return training_chain(declared);
  return sees_whole_cases(form, split) ? prediction_chain(declared) : validation_chain(declared);
}

/// Throws Error (usage) where the declared chain itself says a size that the network cannot take.
void check_declared_size(const ImageForm& form, const Json& declared, Split split) {
  const TransformChain chain(chain_for(form, declared, split));
  if (sees_whole_cases(form, split)) return;
  for (const int64_t size : chain.size_after({})) {
    if (size == 0) continue;  // files decide
    check_crop(size, form.divisor);
    for (const LeastSize& least : form.least_sizes) {
      const bool counts = split != Split::train || least.in_training;
      if (!counts || size >= least.voxels) continue;
      const std::string otherwise =
          least.instead.empty() ? "give RandSpatialCrop a validation_roi_size" : least.instead;
      fail(Exit::usage,
           text("data.transforms leaves ", size, " voxels along an axis",
                least.in_training ? "" : " for validation", ", and ", least.why),
           text("crop at least ", least.voxels, ", or ", otherwise));
    }
  }
}

void check_channels_of(const Sample& sample, const ImageChannels& channels) {
  const auto image = sample.find("image");
  if (image == sample.end()) fail(Exit::data, "the case has no image", "check data.list, or data.modalities");
  int64_t present = image->second.size(0);
  if (present == channels.count) return;
  const auto label = sample.find("label");
  if (channels.with_label && label != sample.end()) present += label->second.size(0);
  if (present == channels.count) return;
  std::vector<std::string> answers;
  for (const std::string& key : channels.keys) answers.push_back(text(key, "=", present));
  fail(Exit::data, text("the image has ", present, " channels, and the network takes ", channels.count),
       answers.empty() ? "name the modalities that it is to see with data.modalities"
                       : text("say ", join(answers, " ")));
}

}  // namespace

void ImageStage::check(const RunConfig& config) const {
  const ImageForm own = form();
  check_declared_size(own, config.data.transforms, Split::train);
  check_windows(own.validation, own.divisor);
  check_declared_size(own, config.data.transforms, Split::val);
}

void ImageStage::check_start(const Sample& first) const {
  const ImageForm own = form();
  check_channels_of(first, own.channels);
  for (const auto& [key, file] : own.weights) check_weights(file, key);
}

void ImageStage::check_example(const Sample& example, Split split) const {
  const ImageForm own = form();
  check_channels_of(example, own.channels);
  if (!sees_whole_cases(own, split)) check_sizes(example, own.divisor);
  for (const LeastSize& least : own.least_sizes) {
    if (split != Split::train || least.in_training) check_least(example, least);
  }
}

bool ImageStage::invents_data(const RunConfig& config) const {
  return volumes_of(form(), config.data).extent.size != GridSize{};
}

Demand ImageStage::demand(const RunConfig& config, const Index& index) const {
  const ImageForm own = form();
  const Extent made = volumes_of(own, config.data).extent;
  TaskSetting setting{
      .seed = 0, .window = size_of_example(config, index, made, own.divisor), .device = c10::kMeta};
  const auto trial = make_task(config, Index{}, setting);
  Sample example = image_to_count(own.channels.count, setting.window);
  if (own.sample.label_classes > 0)
    example.emplace(label_as_mask, image_to_count(/*channels=*/1, setting.window).at("image"));
  Demand demand = count_demand(config, index, training_chain(config.data.transforms), *trial, example);
  demand.training_examples *= own.batches.examples_of_one;
  demand.preferred_micro_batch = own.batches.micro_batch;
  demand.fewest_in_step = own.batches.fewest_in_step;
  demand.batch_norm = own.batches.batch_norm;
  if (own.judge && own.validation.of_whole_cases() && !index.of(Split::val).empty()) {
    setting.validation = own.validation;
    const auto judging = make_task(config, Index{}, setting);
    count_validation(
        *judging, own.channels.count, largest_case(config, index, made), own.validation,
        [&](const at::Tensor& images) { own.judge(*judging, images); }, demand);
  }
  return demand;
}

std::unique_ptr<Dataset> ImageStage::dataset(const RunConfig& config, const Index& index, Split split) const {
  const ImageForm own = form();
  return make_volume_dataset(config.data, index, split, chain_for(own, config.data.transforms, split),
                             own.sample, volumes_of(own, config.data).make);
}

std::unique_ptr<Dataset> ImageStage::reference(const RunConfig& config, const Index& index,
                                               ValidationDepth depth) const {
  const ImageForm own = form();
  if (!own.reference || (depth != ValidationDepth::full && !own.reference->when_quick)) return nullptr;
  DataConfig data = config.data;
  if (data.cache == "smart") data.cache = "none";  // its window is training's
  return some_cases(
      make_volume_dataset(data, index, Split::train, chain_for(own, data.transforms, Split::val), own.sample,
                          volumes_of(own, data).make),
      own.reference->count);
}

std::unique_ptr<Task> ImageStage::task(const RunConfig& config, const Index& index) const {
  const ImageForm own = form();
  return make_task(config, index,
                   {.seed = static_cast<uint64_t>(config.run.seed),
                    .window = configured_size(config, volumes_of(own, config.data).extent),
                    .validation = own.validation});
}

PredictionForm ImageStage::prediction(const RunConfig& config) const {
  const ImageForm own = form();
  PredictionForm prediction{.inputs = {{.name = "image"}},
                            .transforms = prediction_chain(config.data.transforms),
                            .pairs_are_images = own.channels.with_label && own.channels.count == 2};
  if (own.output.empty()) return prediction;
  prediction.volumes = {own.output};
  if (own.sample.label_classes > 0) {
    prediction.units = "classes";
    return prediction;
  }
  prediction.units =
      prediction.transforms.empty() ? "those of the input" : "as data.transforms scale the image";
  return prediction;
}

}  // namespace larmor
