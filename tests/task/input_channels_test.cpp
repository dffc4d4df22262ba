// Inputs of a prediction that are channels of training's image: what reaches the task is what a dataset gives
// of the same files, whatever the transforms and their keys.
#include "larmor/task/input_channels.h"

#include <map>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"
#include "larmor/data/volume_dataset.h"
#include "larmor/judge/prediction/predictor.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Keeps what it is given.
class Recipient final : public Task {
 public:
  std::vector<Objective> objectives() override { return {}; }
  std::vector<at::Tensor> losses(const Batch&, const StepContext&) override { return {}; }
  void validate(const Batch&, Metrics&) override {}
  Prediction predict(const Batch& inputs, const PredictionContext& context) override {
    seen = inputs.tensors;
    grids = context.grids;
    return {};
  }
  std::map<std::string, at::Tensor, std::less<>> seen;
  std::map<std::string, InputGrids, std::less<>> grids;
};

/// A step of every kind that predictions take, with which these heads become others.
const std::map<std::string, std::string> step_parameters{
    {"Orientation", R"("axcodes": "PSR")"},
    {"Spacing", R"("pixdim": [1.5, 2, 3])"},
    {"Resize", R"("spatial_size": [5, 9, 6], "mode": "trilinear")"},
    {"CropForeground", R"("margin": 1)"},
    {"SpatialPad", R"("spatial_size": [20, 20, 20])"},
    {"ScaleIntensityRange", R"("a_min": 0, "a_max": 3)"},
    {"ScaleIntensityRangePercentiles", R"("lower": 1, "upper": 95, "b_min": -1, "b_max": 1)"},
    {"ClipIntensityPercentiles", R"("lower": 5, "upper": 80)"},
    {"Clip", R"("max": 1.5)"},
    {"NormalizeIntensity", R"("subtrahend": [1, 2, 3], "divisor": [4, 5, 6], "channel_wise": true)"}};

std::string step(const std::string& name, const std::string& keys = "") {
  return text("{\"", name, "\": {", step_parameters.at(name), keys.empty() ? "" : ", \"keys\": ", keys, "}}");
}

Json chain_of(const std::string& steps) { return parse_json(text("[", steps, "]"), "a chain"); }

/// Zeros around a box of noise that is another one for each head.
Volume head(int64_t number) {
  const at::Generator generator(at::detail::createCPUGenerator(static_cast<uint64_t>(number)));
  Volume volume{.voxels = at::zeros({1, 10, 12, 8})};
  auto inside = volume.voxels.slice(1, 2 + number, 8).slice(2, 3, 7 + number).slice(3, 1, 6);
  inside.copy_(at::rand(inside.sizes(), generator) * (number + 1) + 0.1);
  for (std::size_t axis = 0; axis < 3; ++axis) volume.affine[axis][axis] = axis == 1 ? -2 : 2;
  return volume;
}

class InputChannelsOf : public ::testing::Test {
 protected:
  InputChannelsOf() {
    for (std::size_t i = 0; i < names_.size(); ++i) save(names_[i], head(static_cast<int64_t>(i)));
  }
  void save(const std::string& name, const Volume& volume) { write_nifti(storage_, file(name), volume); }
  std::string file(const std::string& name) const { return (folder_.path() / (name + ".nii")).string(); }

  /// What training makes of one patient's files of these modalities, [C, D, H, W].
  at::Tensor trained(const Json& chain, const std::vector<std::string>& given, bool resamples = false) {
    std::string head = "patient", row = "p1";
    for (const std::string& name : given) {
      head += ",image_" + name;
      row += "," + name + ".nii";
    }
    const auto list = folder_.path() / "list.csv";
    write_text(storage_, list, text(head, "\n", row, "\n"));
    DataConfig data;
    data.kind = "list";
    data.list = list.string();
    data.folder = folder_.path().string();
    data.grids = resamples ? "resample" : "same";
    data.split.train = 1;
    data.split.val = data.split.test = 0;
    const SampleForm form{.channels = names_, .missing_as_zeros = true};
    return make_volume_dataset(data, make_index(data, 1), Split::train, chain, form)->get({}).at("image");
  }

  PredictionForm form_of(const Json& chain) const {
    PredictionForm form{.inputs = {}, .transforms = chain, .channels = names_};
    for (const std::string& name : names_) form.inputs.push_back({.name = name, .is_optional = true});
    return form;
  }

  /// What reaches the task of the same files, by name.
  Recipient predicted(const PredictionForm& form, const std::vector<std::string>& given,
                      bool resamples = false) {
    Recipient task;
    PredictionCase one{.name = "p1"};
    for (const std::string& name : given) one.inputs[name] = file(name);
    const Predictor predictor(task, form, {.resamples = resamples});
    predictor.predict(one, predictor.read(one));
    return task;
  }

  void expect_trained(const Json& chain, const std::vector<std::string>& given, bool resamples = false) {
    const at::Tensor image = trained(chain, given, resamples);
    const auto task = predicted(form_of(chain), given, resamples);
    EXPECT_EQ(task.seen.size(), given.size());
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto seen = task.seen.find(names_[i]);
      if (seen == task.seen.end()) continue;
      EXPECT_TRUE(seen->second.equal(image[static_cast<int64_t>(i)].unsqueeze(0).unsqueeze(0)))
          << names_[i] << " behind " << chain.dump();
    }
  }

  const std::vector<std::string> names_{"t1", "t2", "t3"};  // in another order than that of the alphabet's

 private:
  DiskStorage storage_;
  ScratchFolder folder_;
};

TEST_F(InputChannelsOf, ArePreparedAsTheChannelsOfTrainingByEveryStepWithKeysOrWithout) {
  for (const auto& [name, parameters] : step_parameters) {
    for (const std::string keys : {"", "\"image\"", "[\"image\"]", R"(["label", "image", "mask_heart"])"}) {
      const Json chain = chain_of(step(name, keys));
      expect_trained(chain, names_);
      EXPECT_FALSE(trained(chain, names_).equal(trained(Json::array(), names_))) << name << " does nothing";
      EXPECT_EQ(steps_without_input(form_of(chain)), "");
    }
  }
}

TEST_F(InputChannelsOf, ArePreparedByEveryStepThatThereIs) {
  std::string known;
  try {
    TransformChain(chain_of("\"Qwertzuiop\""));
  } catch (const Error& error) {
    known = error.hint();
  }
  ASSERT_THAT(known, HasSubstr("known are LoadImage"));
  for (const auto& word : split(known.substr(std::string("known are ").size()), ',')) {
    const std::string name(trim(word));
    const bool is_of_predictions = !name.starts_with("Rand") && name != "CenterSpatialCrop" &&
                                   name != "LoadImage" && name != "EnsureChannelFirst";
    EXPECT_EQ(step_parameters.contains(name), is_of_predictions) << name;
  }
}

TEST_F(InputChannelsOf, ArePreparedByStatisticsOfTheWholeImageAsInTraining) {
  for (const std::string steps :
       {R"({"NormalizeIntensity": {"keys": "image"}})",
        R"({"ScaleIntensityRangePercentiles": {"lower": 1, "upper": 99, "b_min": 0, "b_max": 1}})"})
    expect_trained(chain_of(steps), names_);
}

TEST_F(InputChannelsOf, ThatAreNotGivenAreZerosToTheOthersAsInTraining) {
  const auto all = chain_of(text(step("CropForeground", "\"image\""), ", ", step("Spacing", "[\"image\"]"),
                                 ", ", step("NormalizeIntensity")));
  expect_trained(all, {"t1", "t3"});
  expect_trained(all, {"t2"});
  EXPECT_TRUE(predicted(form_of(all), {}).seen.empty());
}

TEST_F(InputChannelsOf, HaveTheModeThatAListGivesTheirImage) {
  expect_trained(
      chain_of(
          R"({"Spacing": {"pixdim": [3, 3, 3], "keys": ["label", "image"], "mode": ["bilinear", "nearest"]}})"),
      names_);
}

TEST_F(InputChannelsOf, StayAsTheyAreWhereAStepIsForLabelsOrMasks) {
  const auto chain =
      chain_of(text(step("Clip", "[\"label\", \"mask\"]"), ", ", step("SpatialPad", "\"label\"")));
  expect_trained(chain, names_);
  const auto task = predicted(form_of(chain), names_);
  EXPECT_TRUE(task.seen.at("t3")[0].equal(head(2).voxels));
  EXPECT_EQ(steps_without_input(form_of(chain)), "") << "no prediction has labels";
}

TEST_F(InputChannelsOf, AreNotPreparedByAStepForANameThatNoneHasAndThisIsSaid) {
  const auto chain = chain_of(text(step("Clip", "[\"image_t1\"]"), ", ", step("SpatialPad"),
                                   ", {\"LoadImaged\": {\"keys\": \"image_t1\"}}"));
  expect_trained(chain, names_);
  EXPECT_EQ(steps_without_input(form_of(chain)),
            "data.transforms: left out, since their keys name none of the volumes of a prediction (image): "
            "Clip (image_t1)");
}

TEST_F(InputChannelsOf, AreNoneWhereAStageSaysSoAndKeysAreNamesOfInputs) {
  PredictionForm form{
      .inputs = {{.name = "image"}, {.name = "image_side"}},
      .transforms = chain_of(text(step("Clip", "\"image\""), ", ", step("SpatialPad", "\"image_side\"")))};
  save("image", head(1));
  save("image_side", head(2));
  const auto task = predicted(form, {"image", "image_side"});
  EXPECT_TRUE(task.seen.at("image")[0].equal(head(1).voxels.clamp_max(1.5)));
  EXPECT_THAT(task.seen.at("image_side").sizes(), ElementsAre(1, 1, 20, 20, 20));
  EXPECT_EQ(steps_without_input(form), "");
  form.inputs = {{.name = "scan"}};
  EXPECT_THAT(steps_without_input(form), HasSubstr("(scan): Clip (image), SpatialPad (image_side)"));
}

TEST_F(InputChannelsOf, OnOtherGridsAreTurnedOrSampledOrRefusedAsInTraining) {
  const auto chain = chain_of(step("Spacing", "\"image\""));
  save("t2", orient(head(1), "SPL"));
  expect_trained(chain, names_);
  save("t2", resample(head(1), {3, 2, 2}));
  expect_trained(chain, names_, /*resamples=*/true);
  try {
    predicted(form_of(chain), names_);
    FAIL() << "two grids became one image";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    EXPECT_THAT(error.message(), HasSubstr("t2: its grid has 7 x 12 x 8 voxels, and that of t1"));
  }
}

TEST_F(InputChannelsOf, KnowTheGridsOfTheirFiles) {
  save("t2", orient(head(1), "SPL"));
  const auto task = predicted(form_of(chain_of(step("CropForeground"))), names_);
  EXPECT_EQ(task.grids.at("t2").prepared, task.grids.at("t1").prepared);
  EXPECT_EQ(task.grids.at("t2").of_file, orient(head(1), "SPL").affine);
  EXPECT_EQ(task.grids.at("t2").size_of_file, (GridSize{8, 12, 10}));
}

}  // namespace
}  // namespace larmor::testing
