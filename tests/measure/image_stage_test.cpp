// What follows from the form of a stage of images, told of a stage that says nothing but a form and a task.
#include "larmor/measure/image_stage.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/conv.h>

#include "tests/task/support/phantoms.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;
using Sizes = std::vector<int64_t>;

class SettingTask final : public Task {
 public:
  explicit SettingTask(TaskSetting setting) : setting_(std::move(setting)) {}

  std::vector<Objective> objectives() override { return {{.name = "main", .network = network_.get()}}; }
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext&) override {
    return {network_->forward(batch.at("image")).mean()};
  }
  void validate(const Batch&, Metrics&) override {}
  const TaskSetting& setting() const { return setting_; }

 private:
  TaskSetting setting_;
  torch::nn::Conv3d network_{torch::nn::Conv3dOptions(1, 2, 1)};
};

class FormStage final : public ImageStage {
 public:
  explicit FormStage(ImageForm form) : form_(std::move(form)) {}
  WorkloadFields fields() override { return {}; }

 private:
  ImageForm form() const override { return form_; }
  std::unique_ptr<Task> make_task(const RunConfig&, const Index&, const TaskSetting& setting) const override {
    return std::make_unique<SettingTask>(setting);
  }

  ImageForm form_;
};

Index index_of(const RunConfig& config) { return make_index(config.data, 1); }

Sizes size_of(const Dataset& dataset) { return dataset.get({1, 0, 0}).at("image").sizes().slice(1).vec(); }

TEST(ImageStage, RefusesSizesThatTheChainDeclaresAndTheNetworkCannotTake) {
  const auto answer = [](const ImageForm& form, const char* chain) {
    return answer_of([&] { FormStage(form).check(phantoms(chain)); });
  };
  const ImageForm fours{.divisor = 4};
  EXPECT_EQ(answer(fours, R"([{"RandSpatialCrop": {"roi_size": 8}}])"), "fine");
  EXPECT_EQ(answer(fours, "[]"), "fine") << "files decide";
  EXPECT_THAT(
      answer(fours, R"([{"RandSpatialCrop": {"roi_size": 10}}])"),
      HasSubstr("2: data.transforms leaves 10 voxels along an axis, and this network needs a multiple of 4 "
                "| crop 8 or 12"));
  EXPECT_THAT(answer(fours, R"([{"Resize": {"spatial_size": 10}}])"), HasSubstr("leaves 10 voxels"));
  EXPECT_THAT(answer(fours, R"([{"Spicing": {}}])"), HasSubstr("Spacing"));
  const char* const larger = R"([{"RandSpatialCrop": {"roi_size": 8, "validation_roi_size": 10}}])";
  EXPECT_THAT(answer(fours, larger), HasSubstr("leaves 10 voxels"));
  EXPECT_EQ(answer({.divisor = 4, .validation = {.roi_size = {8, 8, 8}}}, larger), "fine")
      << "whole cases have no crop";
  EXPECT_THAT(answer({.divisor = 4, .validation = {.roi_size = {8, 8, 9}}}, larger),
              HasSubstr("validation.roi_size says 9 voxels"));
}

TEST(ImageStage, RefusesCropsAndExamplesThatAreTooSmallForWhatLooksAtThem) {
  const ImageForm judged{.least_sizes = {least_for_ssim(11)}};
  EXPECT_THAT(
      answer_of([&] { FormStage(judged).check(phantoms()); }),
      HasSubstr("leaves 8 voxels along an axis for validation, and SSIM, by which it is judged, looks at 11 "
                "at once | crop at least 11, or give RandSpatialCrop a validation_roi_size"));
  const ImageForm learned{.least_sizes = {{.voxels = 9, .why = "slices have 9", .instead = "say none"}}};
  EXPECT_THAT(answer_of([&] { FormStage(learned).check(phantoms()); }),
              HasSubstr("leaves 8 voxels along an axis, and slices have 9 | crop at least 9, or say none"));
  const Sample small{{"image", at::zeros({1, 8, 12, 12})}};
  const auto of = [&](const ImageForm& form, Split split) {
    return answer_of([&] { FormStage(form).check_example(small, split); });
  };
  EXPECT_EQ(of(judged, Split::train), "fine");
  EXPECT_THAT(of(judged, Split::val), HasSubstr("3: has 8 voxels along an axis, and SSIM"));
  EXPECT_THAT(of(learned, Split::train), HasSubstr("3: has 8 voxels along an axis, and slices have 9"));
}

TEST(ImageStage, RefusesAnExampleOfOtherChannelsOrSizes) {
  const auto of = [](const ImageForm& form, const Sample& sample, Split split = Split::train) {
    return answer_of([&] { FormStage(form).check_example(sample, split); });
  };
  const Sample image{{"image", at::zeros({2, 8, 8, 12})}};
  const ImageForm two{.channels = {.count = 2, .keys = {"model.in_channels"}}, .divisor = 4};
  EXPECT_EQ(of(two, image), "fine");
  EXPECT_EQ(
      of({.channels = {.count = 1, .keys = {"model.in_channels", "model.out_channels"}}}, image),
      "3: the image has 2 channels, and the network takes 1 | say model.in_channels=2 model.out_channels=2");
  EXPECT_THAT(of({}, image), HasSubstr("with data.modalities"));
  EXPECT_THAT(of(two, {}), HasSubstr("has no image"));
  const ImageForm whole{.channels = {.count = 2}, .divisor = 8, .validation = {.roi_size = {8, 8, 8}}};
  EXPECT_THAT(of(whole, image),
              HasSubstr("has 12 voxels along an axis, and this network needs a multiple of 8"));
  EXPECT_EQ(of(whole, image, Split::val), "fine") << "a case is padded to its windows";
}

TEST(ImageStage, CountsTheLabelAsChannelsWhereTheFormSaysSo) {
  const Sample pair{{"image", at::zeros({1, 8, 8, 8})}, {"label", at::zeros({1, 8, 8, 8})}};
  const auto of = [&](const ImageChannels& channels) {
    return answer_of([&] { FormStage({.channels = channels}).check_example(pair, Split::train); });
  };
  EXPECT_EQ(of({.count = 2, .with_label = true}), "fine");
  EXPECT_EQ(of({.count = 1, .with_label = true}), "fine");
  EXPECT_NE(of({.count = 2}), "fine");
}

TEST(ImageStage, RefusesAStartWithWeightsThatAreNotThere) {
  const Sample first{{"image", at::zeros({1, 8, 8, 8})}};
  const auto with = [&](const std::string& file) {
    return answer_of([&] { FormStage({.weights = {{"model.start", file}}}).check_start(first); });
  };
  EXPECT_EQ(with(""), "fine");
  EXPECT_EQ(with("/nowhere.safetensors"), "2: there is no file /nowhere.safetensors | check model.start");
  EXPECT_NE(answer_of([&] { FormStage({.channels = {.count = 2}}).check_start(first); }), "fine");
}

TEST(ImageStage, SeesCropsInTrainingAndWholeCasesWhereValidationIsOfThem) {
  const RunConfig config = phantoms();
  const Index index = index_of(config);
  const FormStage crops({}), whole({.validation = {.roi_size = {8, 8, 8}}});
  EXPECT_EQ(size_of(*crops.dataset(config, index, Split::train)), (Sizes{8, 8, 8}));
  EXPECT_EQ(size_of(*crops.dataset(config, index, Split::val)), (Sizes{8, 8, 8}));
  EXPECT_EQ(size_of(*whole.dataset(config, index, Split::train)), (Sizes{8, 8, 8}));
  EXPECT_EQ(size_of(*whole.dataset(config, index, Split::val)), (Sizes{12, 12, 12}));
}

TEST(ImageStage, TakesReferenceCasesOfTrainingAsValidationSeesThem) {
  RunConfig config = phantoms();
  config.data.cache = "smart";
  const Index index = index_of(config);
  const auto cases = [&](const ImageForm& form, ValidationDepth depth) {
    const auto found = FormStage(form).reference(config, index, depth);
    return found == nullptr ? 0 : found->size();
  };
  EXPECT_EQ(cases({}, ValidationDepth::full), 0);
  EXPECT_EQ(cases({.reference = ReferenceCases{.count = 3}}, ValidationDepth::full), 3);
  EXPECT_EQ(cases({.reference = ReferenceCases{.count = 3}}, ValidationDepth::quick), 0);
  EXPECT_EQ(cases({.reference = ReferenceCases{.when_quick = true}}, ValidationDepth::quick), 4);
  const FormStage whole({.validation = {.roi_size = {8, 8, 8}}, .reference = ReferenceCases{}});
  EXPECT_EQ(size_of(*whole.reference(config, index, ValidationDepth::full)), (Sizes{12, 12, 12}));
}

TEST(ImageStage, CountsTheTaskOverAnExampleOfTheSizeThatTheChainLeaves) {
  const RunConfig config = phantoms();
  const FormStage stage(
      {.batches = {.micro_batch = 3, .fewest_in_step = 2, .batch_norm = true, .examples_of_one = 2}});
  const Demand demand = stage.demand(config, index_of(config));
  EXPECT_EQ(demand.sample_bytes, 4 * 8 * 8 * 8);
  EXPECT_EQ(demand.parameters, 4);
  EXPECT_EQ(demand.training_examples, 2 * 4);
  EXPECT_EQ(demand.preferred_micro_batch, 3);
  EXPECT_EQ(demand.fewest_in_step, 2);
  EXPECT_TRUE(demand.batch_norm);
  EXPECT_EQ(demand.validation_case_bytes, 0);
}

TEST(ImageStage, CountsWhatJudgingAWholeCaseHolds) {
  const RunConfig config = phantoms();
  const auto copies = [](Task&, const at::Tensor& images) { const at::Tensor copy = at::empty_like(images); };
  const FormStage stage({.validation = {.roi_size = {8, 8, 8}}, .judge = copies});
  const Demand demand = stage.demand(config, index_of(config));
  EXPECT_EQ(demand.validation_image_bytes, 4 * 12 * 12 * 12);
  EXPECT_GT(demand.validation_window_bytes, 0);
}

TEST(ImageStage, MakesItsTaskForTheSizeOfItsExamples) {
  RunConfig config = phantoms("[]");
  config.run.seed = 7;
  const FormStage stage({.validation = {.roi_size = {8, 8, 8}}});
  const auto task = stage.task(config, {});
  const TaskSetting& setting = dynamic_cast<const SettingTask&>(*task).setting();
  EXPECT_EQ(setting.seed, 7U);
  EXPECT_EQ(setting.window, (Sizes{12, 12, 12}));
  EXPECT_TRUE(setting.device.is_cpu());
  EXPECT_TRUE(setting.validation.of_whole_cases());
}

TEST(ImageStage, InventsDataWhereTheProgramMakesVolumes) {
  RunConfig config = phantoms();
  EXPECT_TRUE(FormStage({}).invents_data(config));
  config.data.kind = "nifti";
  EXPECT_FALSE(FormStage({}).invents_data(config));
  const auto always = [](const DataConfig&) { return MadeVolumes{.extent = {.size = {4, 4, 4}}}; };
  EXPECT_TRUE(FormStage({.volumes = always}).invents_data(config));
}

TEST(ImageStage, PredictsOneImageFromOne) {
  const auto form = FormStage({.output = "sharp"}).prediction(phantoms());
  ASSERT_EQ(form.inputs.size(), 1U);
  EXPECT_EQ(form.inputs[0].name, "image");
  EXPECT_EQ(form.volumes, (std::vector<std::string>{"sharp"}));
  EXPECT_TRUE(form.transforms.empty());
  EXPECT_EQ(form.units, "those of the input");
  EXPECT_FALSE(form.pairs_are_images);
  EXPECT_TRUE(
      FormStage({.channels = {.count = 2, .with_label = true}}).prediction(phantoms()).pairs_are_images);
  EXPECT_TRUE(FormStage({.predicts_by_average = true}).predicts_by_average());
}

}  // namespace
}  // namespace larmor::testing
