#include "workloads/fast_ddpm/denoiser/denoiser_stage.h"

#include <map>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"
#include "larmor/config/load.h"
#include "larmor/formats/volume.h"
#include "larmor/judge/prediction/predictor.h"
#include "larmor/run/loaded_stage.h"

#include "workloads/fast_ddpm/workload.h"

#include "tests/support/cases.h"

namespace larmor::fast_ddpm {
namespace {

std::filesystem::path shipped_configs() {
  const char* const source = std::getenv("LARMOR_SOURCE");
  const auto root = source != nullptr ? std::filesystem::path(source) : std::filesystem::current_path();
  return root / "workloads" / "fast_ddpm" / "denoiser" / "configs";
}

/// The guide's config with `overrides`.
LoadedStage guide_config(std::vector<std::string> overrides) {
  Sources sources;
  sources.files = {shipped_configs() / "default.yaml"};
  sources.overrides = std::move(overrides);
  return load_stage(sources, make_workload(), "denoiser");
}

/// Voxels of the last of the cases' images, a value a channel, from files of a value each; -1: not present.
std::vector<int64_t> channels_of(const testing::CaseFolder& folder, std::size_t cases = 1) {
  const auto loaded = guide_config({"data.folder=" + folder.path().string(), "data.transforms=[]",
                                    "data.split.train=1.0", "data.split.val=0", "data.split.test=0"});
  const auto& config = loaded.config.config;
  const Index index = loaded.stage->index(config);
  EXPECT_EQ(index.cases.size(), cases);
  const Sample sample =
      loaded.stage->dataset(config, index, Split::train)->get({.example = static_cast<int64_t>(cases) - 1});
  const at::Tensor image = sample.at("image"), present = sample.at("present");
  std::vector<int64_t> values;
  for (int64_t channel = 0; channel < image.size(0); ++channel) {
    const auto value = image[channel].max().item<float>();
    values.push_back(present[channel].item<bool>() ? static_cast<int64_t>(value) : -1);
    if (values.back() == -1) {
      EXPECT_EQ(value, 0);
    }
  }
  return values;
}

TEST(DenoiserStage, ReadsThreeReleasesOfBraTSIntoTheSameChannels) {
  const std::vector<int64_t> in_order{1, 2, 3, 4};
  testing::CaseFolder of_2020, of_2021, of_2023;
  const std::string id_2020 = "BraTS20_Training_001/BraTS20_Training_001_",
                    id_2021 = "BraTS2021_00000/BraTS2021_00000_",
                    id_2023 = "BraTS-GLI-00000-000/BraTS-GLI-00000-000-";
  const std::vector<std::string> before{"t1", "t1ce", "t2", "flair", "seg"},
      since{"t1n", "t1c", "t2w", "t2f", "seg"};
  for (int value = 1; value <= 5; ++value) {
    const auto place = static_cast<std::size_t>(value - 1);
    of_2020.volume(id_2020 + before[place] + ".nii", value);
    of_2021.volume(id_2021 + before[place] + ".nii.gz", value);
    of_2023.volume(id_2023 + since[place] + ".nii.gz", value);
  }
  EXPECT_EQ(channels_of(of_2020), in_order);
  EXPECT_EQ(channels_of(of_2021), in_order);
  EXPECT_EQ(channels_of(of_2023), in_order);
}

TEST(DenoiserStage, TakesACaseThatLacksAModalityAndSaysWhich) {
  testing::CaseFolder folder;
  folder.volume("a/a-t1n.nii.gz", 1).volume("a/a-t2w.nii.gz", 3).volume("a/a-t2f.nii.gz", 4);
  folder.volume("b/b-t1c.nii.gz", 2);
  EXPECT_EQ(channels_of(folder, 2), (std::vector<int64_t>{1, -1, 3, 4}));
}

TEST(DenoiserStage, RefusesExamplesThatItCannotLearnFrom) {
  const auto loaded = guide_config({"data.folder=."});
  const auto message_of = [&](const Sample& sample, Split split) {
    try {
      loaded.stage->check_example(sample, split);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::data);
      return error.message();
    }
    return std::string("accepted");
  };
  const at::Tensor good = at::zeros({4, 16, 16, 16});
  EXPECT_EQ(message_of({{"image", good}}, Split::val), "accepted");
  EXPECT_NE(message_of({{"image", at::zeros({3, 16, 16, 16})}}, Split::train), "accepted");
  EXPECT_NE(message_of({{"image", at::zeros({4, 16, 16, 18})}}, Split::train), "accepted");
  EXPECT_EQ(message_of({{"image", at::zeros({4, 8, 16, 16})}}, Split::train), "accepted");
  EXPECT_NE(message_of({{"image", at::zeros({4, 8, 16, 16})}}, Split::val), "accepted")
      << "too small for SSIM";
  const at::Tensor one = at::tensor({0, 1, 0, 0}).to(at::kBool), two = at::tensor({0, 1, 0, 1}).to(at::kBool);
  EXPECT_NE(message_of({{"image", good}, {"present", one}}, Split::train), "accepted");
  EXPECT_EQ(message_of({{"image", good}, {"present", two}}, Split::train), "accepted");
}

TEST(DenoiserStage, RefusesAConfigThatCannotWorkAndNamesTheKey) {
  const auto message_of = [&](const std::string& override) {
    try {
      const auto loaded = guide_config({"data.folder=.", override});
      loaded.stage->check(loaded.config.config);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::usage);
      EXPECT_FALSE(error.hint().empty());
      return error.message();
    }
    return std::string("accepted");
  };
  const auto names = [&](const std::string& override, const std::string& key) {
    EXPECT_NE(message_of(override).find(key), std::string::npos) << message_of(override);
  };
  EXPECT_EQ(message_of("model.dropout=0"), "accepted");
  names("model.in_channels=3", "model.in_channels");
  names("model.modalities=[t1n, t1n, t2w, t2f]", "model.modalities");
  names("model.modalities=[t1n, t1c, t2w, target]", "model.modalities");
  names("model.out_ch=2", "model.out_ch");
  names("model.sampling.timesteps=2000", "2000");
  names("model.noise.schedule=rectified_flow", "model.noise.schedule");
  names("model.linear_skip=true", "model.linear_skip");
  names("model.sampling.samples=0", "model.sampling.samples");
  names("model.sampling.steps=12", "model.sampling.steps");
  names("data.transforms=[{RandSpatialCrop: {roi_size: [62, 64, 64]}}]", "62");
}

/// Keeps what it is given.
class Listener final : public Task {
 public:
  std::vector<Objective> objectives() override { return {}; }
  std::vector<at::Tensor> losses(const Batch&, const StepContext&) override { return {}; }
  void validate(const Batch&, Metrics&) override {}
  Prediction predict(const Batch& inputs, const PredictionContext&) override {
    seen = inputs.tensors;
    return {.volumes = {{"generated", {at::zeros({1, 1, 1, 1}), identity_affine()}}}};
  }
  std::map<std::string, at::Tensor, std::less<>> seen;
};

TEST(DenoiserStage, PreparesTheModalitiesOfAPredictionOnOneGridWhateverTheKeys) {
  const auto prepared = [](const std::string& keys) {
    Sources sources;
    sources.files = {shipped_configs() / "brain_cpu.yaml"};
    sources.overrides = {
        "data.folder=.",
        text("data.transforms=[{Spacing: {pixdim: [2, 2, 2]", keys, "}}, {CropForeground: {margin: 1", keys,
             "}}, {NormalizeIntensity: {nonzero: true, channel_wise: true", keys, "}}]")};
    const auto loaded = load_stage(sources, make_workload(), "denoiser");
    const ScratchFolder folder;
    DiskStorage storage;
    PredictionCase one;
    for (const int64_t corner : {4, 10, 20}) {
      Volume head{at::zeros({1, 40, 30, 20}), identity_affine()};
      head.voxels.slice(1, corner, 30).slice(2, 5, 25).slice(3, 5, 15).fill_(100).select(3, 7).fill_(200);
      const std::string modality = corner == 4 ? "t2f" : corner == 10 ? "t1n" : "t2w";
      one.inputs[modality] = (folder.path() / (modality + ".nii")).string();
      write_nifti(storage, one.inputs[modality], head);
    }
    Listener task;
    const Predictor predictor(task, loaded.stage->prediction(loaded.config.config), {});
    predictor.predict(one, predictor.read(one));
    return task.seen;
  };
  const auto all = prepared(""), of_image = prepared(", keys: image"), of_list = prepared(", keys: [image]");
  ASSERT_EQ(all.size(), 3U);
  for (const auto& [name, modality] : all) {
    EXPECT_EQ(modality.sizes(), (std::vector<int64_t>{1, 1, 15, 12, 7})) << name;
    EXPECT_NEAR(modality.masked_select(modality.ne(0)).mean().item<float>(), 0, 1e-6) << name;
    EXPECT_TRUE(of_image.at(name).equal(modality)) << name;
    EXPECT_TRUE(of_list.at(name).equal(modality)) << name;
  }
}

TEST(DenoiserConfig, SamplesOverAllTimesOrSomeOfThemAndAlwaysTheNoisiest) {
  DenoiserConfig config;
  config.timesteps = 5;
  config.scheduler_type = nn::FastDdpmTimesteps::non_uniform;
  using Times = std::vector<double>;
  EXPECT_EQ(config.sampled_times(), (Times{999, 849, 699, 350, 0}));
  for (const auto& [steps, times] : std::vector<std::pair<int64_t, Times>>{
           {1, {999}}, {2, {999, 699}}, {3, {999, 849, 350}}, {5, {999, 849, 699, 350, 0}}}) {
    config.steps = steps;
    EXPECT_EQ(config.sampled_times(), times);
  }
}

TEST(DenoiserConfig, RefusesAListThatBeginsWhereNothingIsNoise) {
  DenoiserConfig config;
  config.check();
  config.scheduler_type = nn::FastDdpmTimesteps::uniform_from_zero;
  config.timesteps = 1;
  EXPECT_THROW(config.check(), Error);
}

TEST(DenoiserStage, AsksForModalitiesAndForTheNameOfTheMissingOne) {
  const auto loaded = guide_config({"data.folder=."});
  const PredictionForm form = loaded.stage->prediction(loaded.config.config);
  std::vector<std::string> names;
  for (const auto& input : form.inputs) {
    names.push_back(input.name);
    EXPECT_TRUE(input.is_optional);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"t1n", "t1c", "t2w", "t2f", "target"}));
  EXPECT_EQ(form.inputs.back().kind, PredictionInput::Kind::text);
  names.pop_back();
  EXPECT_EQ(form.channels, names);
  EXPECT_TRUE(loaded.stage->predicts_by_average());
}

}  // namespace
}  // namespace larmor::fast_ddpm
