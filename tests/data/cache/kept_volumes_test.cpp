// A cache is worn by any source of volumes, under a key of the caller's. What it does to samples:
// cached_dataset_test.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/data/volume_source.h"

namespace larmor {
namespace {

/// Three cases, as an encoder would compute them: case n holds the number n, and who asks is counted.
class Computed final : public VolumeSource {
 public:
  explicit Computed(std::atomic<int>& calls) : calls_(calls) {}
  int64_t cases() const override { return 3; }
  std::string case_name(int64_t number) const override { return "case" + std::to_string(number); }
  SourceVolumes get(const ExampleKey& key) const override {
    ++calls_;
    Volume latent;
    latent.voxels = at::full({2, 4, 4, 4}, static_cast<double>(key.example), at::kFloat);
    return {.volumes = {{"latent", latent}}};
  }
  Contents contents(int64_t number, SourceHashes&) const override {
    return {{"latent", std::to_string(number)}};
  }

 private:
  std::atomic<int>& calls_;
};

class KeptVolumes : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<PreparableDataset> open(const Json& key, const std::string& cache = GetParam()) {
    DataConfig data;
    data.cache = cache;
    data.cache_rate = 1;
    data.cache_folder = store_.path().string();
    const auto chain = std::make_shared<const TransformChain>(Json::array());
    return transformed(kept(std::make_unique<Computed>(calls_), data, key), chain);
  }

  void look_at_all(const Json& key) {
    const auto dataset = open(key);
    for (int64_t example = 0; example < 3; ++example) {
      EXPECT_EQ(dataset->get({1, 0, example}).at("latent").mean().item<double>(),
                static_cast<double>(example));
    }
  }

  ScratchFolder store_;
  std::atomic<int> calls_ = 0;
};

TEST_P(KeptVolumes, AreComputedOnceForAKey) {
  look_at_all("weights 1");
  EXPECT_EQ(calls_, 3);
  look_at_all("weights 1");
  EXPECT_EQ(calls_, 3);
  look_at_all("weights 2");
  EXPECT_EQ(calls_, 6) << "other weights, other latents";
}

TEST_P(KeptVolumes, ArePreparedBeforeARun) {
  const auto dataset = open("weights 1");
  ASSERT_EQ(dataset->preparable(), dataset.get());
  EXPECT_FALSE(dataset->is_prepared(1));
  EXPECT_GT(dataset->prepare(1), 0U);
  EXPECT_TRUE(dataset->is_prepared(1));
  EXPECT_FALSE(dataset->is_prepared(2));
  EXPECT_EQ(dataset->cache_place().folder, store_.path());
}

INSTANTIATE_TEST_SUITE_P(InEachCache, KeptVolumes, ::testing::Values("full", "smart"),
                         [](const auto& instance) { return instance.param; });

TEST_F(KeptVolumes, AreTheSourceItselfWithoutACache) {
  const auto dataset = open("weights 1", "none");
  EXPECT_EQ(dataset->preparable(), nullptr) << "there is nothing to prepare";
  for (int round = 0; round < 2; ++round) dataset->get({1, 0, 0});
  EXPECT_EQ(calls_, 2);
}

}  // namespace
}  // namespace larmor
