#include "larmor/data/volume_source.h"

#include <array>
#include <memory>
#include <string>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/data/volume_dataset.h"
#include "larmor/formats/affine.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

/// One case of eight voxels that count, whose second channel is missing where it is said so.
class Counting final : public VolumeSource {
 public:
  explicit Counting(int& calls, bool lacks_one = false) : calls_(calls), lacks_one_(lacks_one) {}
  int64_t cases() const override { return 1; }
  std::string case_name(int64_t) const override { return "the case"; }
  SourceVolumes get(const ExampleKey&) const override {
    ++calls_;
    at::Tensor voxels = at::arange(16, at::kFloat).reshape({2, 2, 2, 2});
    if (lacks_one_) voxels[1].zero_();
    return {.volumes = {{"image", {voxels}}}};
  }
  Contents contents(int64_t, SourceHashes&) const override { return {{"image", "hash"}}; }
  Sample values(int64_t) const override {
    Sample sample{{"age", at::scalar_tensor(70.0, at::kDouble)}};
    if (lacks_one_) {
      sample["present"] = at::ones({2}, at::kBool);
      sample["present"][1].fill_(false);
    }
    return sample;
  }

 private:
  int& calls_;
  const bool lacks_one_;
};

SharedChain chain_of(const char* steps) {
  return std::make_shared<const TransformChain>(parse_json(steps, "chain"));
}

const char* const plus_one = R"([{"ScaleIntensityRange": {"a_min": 0, "a_max": 1, "b_min": 1, "b_max": 2}}])";

TEST(VolumeSource, GivesItsValuesToEachSample) {
  int calls = 0;
  const auto dataset = transformed(std::make_unique<Counting>(calls), chain_of(plus_one));
  const Sample sample = dataset->get({1, 0, 0});
  EXPECT_EQ(sample.at("image").max().item<float>(), 16);
  EXPECT_EQ(sample.at("age").item<double>(), 70);
  EXPECT_EQ(dataset->content_hash(0), "hash");
}

TEST(VolumeSource, StaysZeroInChannelsThatAreMissing) {
  int calls = 0;
  const auto dataset = transformed(std::make_unique<Counting>(calls, true), chain_of(plus_one));
  const Sample sample = dataset->get({1, 0, 0});
  EXPECT_EQ(sample.at("image")[0].min().item<float>(), 1);
  EXPECT_EQ(sample.at("image")[1].abs().max().item<float>(), 0) << "although the chain adds one";
}

TEST(VolumeSource, IsAskedOnceWhereItsVolumesAreRecent) {
  int calls = 0;
  const auto chain = chain_of(plus_one);
  const auto dataset = transformed(recent(deterministic(std::make_unique<Counting>(calls), chain), 1), chain,
                                   ChainPart::random);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    const at::Tensor image = dataset->get({1, epoch, 0}).at("image");
    EXPECT_EQ(image.max().item<float>(), 16);
    image.fill_(99);  // reaches nobody else's
  }
  EXPECT_EQ(calls, 1);
}

TEST(VolumeSource, NamesTheCaseThatItsChainRefuses) {
  int calls = 0;
  class Broken final : public SourceDecorator {
   public:
    using SourceDecorator::SourceDecorator;
    SourceVolumes get(const ExampleKey& key) const override {
      SourceVolumes given = inner().get(key);
      given.volumes.at("image").affine = {};  // singular
      return given;
    }
  };
  const auto dataset = transformed(std::make_unique<Broken>(std::make_unique<Counting>(calls)),
                                   chain_of(R"([{"Orientation": {"axcodes": "RAS"}}])"));
  const auto error = error_of([&] { dataset->get({1, 0, 0}); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("the case"));
}

std::unique_ptr<Dataset> dataset_of(const std::string& kind, const testing::CaseFolder& folder,
                                    const Json& chain) {
  DataConfig data;
  data.kind = kind;
  data.folder = folder.path().string();
  data.split.train = 1;
  data.split.val = data.split.test = 0;
  return make_volume_dataset(data, make_index(data, 1), Split::train, chain);
}

TEST(DatasetGrid, KnowsWhereTheVoxelsOfWhatItGaveAre) {
  testing::CaseFolder folder;
  folder.volume("a.nii").volume("b.nii");
  const auto chain =
      parse_json(R"([{"Orientation": {"axcodes": "LPS"}}, {"Spacing": {"pixdim": [0.5, 0.5, 2]}}])", "chain");
  const auto dataset = dataset_of("nifti", folder, chain);
  EXPECT_FALSE(dataset->grid(1)) << "it was not asked for";
  dataset->get({1, 0, 1});
  ASSERT_TRUE(dataset->grid(1));
  EXPECT_EQ(axcodes_of(*dataset->grid(1)), "LPS");
  EXPECT_EQ(spacing_of(*dataset->grid(1)), (std::array<double, 3>{0.5, 0.5, 2}));
  EXPECT_FALSE(dataset->grid(0));
}

TEST(DatasetGrid, KnowsNoPlaceOfArrays) {
  testing::CaseFolder folder;
  folder.archive("single.npz", {3, 4, 5});
  const auto dataset = dataset_of("npz", folder, Json::array());
  dataset->get({1, 0, 0});
  EXPECT_FALSE(dataset->grid(0));
}

}  // namespace
}  // namespace larmor
