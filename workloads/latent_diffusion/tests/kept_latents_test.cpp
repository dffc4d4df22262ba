#include "workloads/latent_diffusion/diffusion/kept_latents.h"

#include <memory>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor::latent_diffusion {
namespace {

/// Three cases: images of two voxels an axis that hold the case's number.
class NumberedImages final : public VolumeSource {
 public:
  int64_t cases() const override { return 3; }
  std::string case_name(int64_t number) const override { return "case " + std::to_string(number); }
  SourceVolumes get(const ExampleKey& key) const override {
    const auto number = static_cast<double>(key.example);
    return {.volumes = {{"image", {.voxels = at::full({1, 2, 2, 2}, number, at::kFloat)}}}};
  }
  Contents contents(int64_t number, SourceHashes&) const override { return {{"image", case_name(number)}}; }
};

TEST(KeptLatents, TakeThePlaceOfImagesAndAreMadeByOneAutoencoder) {
  auto made = std::make_shared<int>(0);
  const auto source = encoded(std::make_unique<NumberedImages>(), [made]() -> EncodeCase {
    ++*made;
    return [](const Sample& images) -> Sample {
      EXPECT_FALSE(at::GradMode::is_enabled());
      return {{kept_latent::target, images.at("image").mean().expand({4, 1, 1, 1})}};
    };
  });
  EXPECT_EQ(*made, 0) << "an autoencoder was read before a case was asked for";
  for (int64_t number = 0; number < source->cases(); ++number) {
    const auto volumes = source->get({.example = number}).volumes;
    ASSERT_EQ(volumes.size(), 1U);
    const auto& latent = volumes.at(kept_latent::target).voxels;
    EXPECT_EQ(latent.sizes(), at::IntArrayRef({4, 1, 1, 1}));
    EXPECT_EQ(latent.mean().item<double>(), static_cast<double>(number));
  }
  EXPECT_EQ(*made, 1);
}

TEST(KeptLatents, SayWhyAnAutoencoderTakesNoImageAndTryTheNext) {
  const auto source = encoded(std::make_unique<NumberedImages>(), []() -> EncodeCase {
    return [](const Sample& images) -> Sample {
      if (images.at("image").mean().item<double>() > 1) fail(Exit::data, "too bright");
      return images;
    };
  });
  EXPECT_THROW(source->get({.example = 2}), Error);
  EXPECT_EQ(source->get({.example = 1}).volumes.size(), 1U);
}

}  // namespace
}  // namespace larmor::latent_diffusion
