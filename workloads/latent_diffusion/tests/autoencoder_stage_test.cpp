// The first stage's perceptual network: a file that its run keeps, and what is refused before anything
// starts.
#include "workloads/latent_diffusion/autoencoder/autoencoder_stage.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/device/module_state.h"
#include "larmor/nn/losses/lpips.h"
#include "larmor/run/kept_files.h"
#include "larmor/run/loaded_stage.h"

#include "workloads/latent_diffusion/workload.h"

namespace larmor::latent_diffusion {
namespace {

using ::testing::HasSubstr;

/// `place`: the folder below which its run has kept files.
LoadedStage load_first(const std::string& network, const std::filesystem::path& place = {}) {
  const std::string transforms =
      "data.transforms=[{RandSpatialCrop: {roi_size: [20, 20, 20], validation_roi_size: [20, 20, 20]}}]";
  return load_stage({.files = {}, .overrides = {transforms, "loss.perceptual_network=" + network}},
                    make_workload(), "autoencoder", /*earlier=*/nullptr, place);
}

TEST(AutoencoderStage, ItsRunKeepsThePerceptualNetwork) {
  const ScratchFolder scratch;
  DiskStorage storage;
  const auto file = scratch.path() / "trunk.safetensors";
  write_text(storage, file, "weights");
  const auto loaded = load_first(file.string());
  const auto kept = loaded.stage->keeps(loaded.config.config, {});
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept.begin()->second, "weights");
  for (const auto* none : {"random", ""}) {
    const auto other = load_first(none);
    EXPECT_EQ(other.stage->keeps(other.config.config, {}).size(), 0U) << none;
  }
}

TEST(AutoencoderStage, SaysThatAPerceptualTermWithoutANetworkIsLeftOut) {
  const auto without = load_first(""), with = load_first("random");
  const auto remarks = without.stage->remarks(without.config.config);
  ASSERT_EQ(remarks.size(), 1U) << "the default weight is 1e-3";
  EXPECT_THAT(remarks[0], HasSubstr("loss.perceptual_weight is 0.001, and there is no perceptual network"));
  EXPECT_THAT(remarks[0], HasSubstr("loss.perceptual_network=random"));
  EXPECT_EQ(with.stage->remarks(with.config.config).size(), 0U);
}

TEST(AutoencoderStage, ReadsThePerceptualNetworkThatItsRunHasKept) {
  const ScratchFolder scratch;
  DiskStorage storage;
  nn::Lpips lpips;
  NamedTensors trunk = state_dict(lpips);
  for (auto& [name, tensor] : trunk) tensor = at::full_like(tensor, 0.25);
  const auto file = scratch.path() / "trunk.safetensors";
  write_tensors(storage, file, trunk);
  const auto given = load_first(file.string());
  keep_files(given.stage->keeps(given.config.config, {}), scratch.path(), storage);
  std::filesystem::remove(file);
  const auto loaded = load_first(file.string(), scratch.path());
  const auto task = loaded.stage->task(loaded.config.config, {});
  ASSERT_EQ(task->companions().size(), 1U);
  EXPECT_EQ(task->companions().front()->parameters().front().max().item<float>(), 0.25F);
}

TEST(AutoencoderStage, RefusesAPerceptualNetworkThatIsNotThereAndCropsThatItCannotSee) {
  const auto message_of = [](const auto& work) -> std::string {
    try {
      work();
    } catch (const Error& error) {
      return error.message();
    }
    return "nothing";
  };
  const auto missing = load_first("/nowhere.safetensors");
  const Sample first{{"image", at::zeros({1, 20, 20, 20})}};
  EXPECT_THAT(message_of([&] { missing.stage->check_start(first); }),
              HasSubstr("no file /nowhere.safetensors"));
  auto small = load_first("random");
  const Sample thin{{"image", at::zeros({1, 16, 20, 20})}};
  EXPECT_THAT(message_of([&] { small.stage->check_example(thin, Split::val); }), HasSubstr("has 16 voxels"));
  EXPECT_EQ(message_of([&] { load_first("").stage->check_example(thin, Split::val); }), "nothing");
  small.config.config.data.transforms =
      parse_json(R"([{"RandSpatialCrop": {"roi_size": [16, 16, 16], "validation_roi_size": [16, 16, 16]}}])",
                 "the test");
  EXPECT_THAT(message_of([&] { small.stage->check(small.config.config); }), HasSubstr("slices of 17 pixels"));
}

}  // namespace
}  // namespace larmor::latent_diffusion
