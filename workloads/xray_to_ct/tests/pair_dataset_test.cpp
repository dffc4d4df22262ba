#include "workloads/xray_to_ct/data/pair_dataset.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "workloads/xray_to_ct/data/alignment.h"

namespace larmor::xray_to_ct::testing {
namespace {

RunConfig phantom_run() {
  RunConfig config;
  config.data.kind = "phantom";
  config.data.phantom_cases = 6;
  config.data.phantom_size = {64, 64, 64};
  return config;
}

PairConfig small_pairs() {
  PairConfig pairs;
  pairs.radiograph_size = 64;
  return pairs;
}

struct Samples {
  explicit Samples(const PairConfig& config, int64_t size = 32, int64_t views = 2)
      : pairs(config),
        index(pair_index(phantom_run(), pairs)),
        dataset(pair_dataset(phantom_run(), pairs, index, Split::train, size, views)) {}
  Sample get(int64_t epoch, int64_t example = 0) const {
    return dataset->get({.seed = 3, .epoch = epoch, .example = example});
  }

  PairConfig pairs;
  Index index;
  std::unique_ptr<PreparableDataset> dataset;
};

/// The sample's volume projected by its own rays and intensity.
at::Tensor projected(const Sample& sample, const PairConfig& pairs) {
  return radiographs_of(sample.at(pair::volume).unsqueeze(0), sample.at(pair::rays).unsqueeze(0),
                        sample.at(pair::intensity).unsqueeze(0), pairs.radiograph_size, pairs.radiograph_size,
                        pairs)[0];
}

TEST(PairDataset, ASampleHoldsWhatStagesAreBuiltOn) {
  const Samples samples(small_pairs());
  const Sample sample = samples.get(0);
  EXPECT_EQ(sample.at(pair::radiographs).sizes(), at::IntArrayRef({2, 1, 64, 64}));
  EXPECT_EQ(sample.at(pair::volume).sizes(), at::IntArrayRef({1, 32, 32, 32}));
  EXPECT_EQ(sample.at(pair::rays).sizes(), at::IntArrayRef({2, ray_numbers}));
  EXPECT_EQ(sample.at(pair::intensity).sizes(), at::IntArrayRef({2, 2}));
  EXPECT_EQ(sample.at(pair::mirrored).scalar_type(), at::kBool);
  for (const char* name : {pair::radiographs, pair::volume}) {
    EXPECT_GE(sample.at(name).min().item<double>(), -1) << name;
    EXPECT_LE(sample.at(name).max().item<double>(), 1) << name;
    EXPECT_TRUE(sample.at(name).is_contiguous()) << name;
  }
  const Samples single(small_pairs(), 16, 1);
  EXPECT_EQ(single.get(0).at(pair::radiographs).sizes(), at::IntArrayRef({1, 1, 64, 64}));
  EXPECT_EQ(single.get(0).at(pair::volume).size(1), 16);
}

TEST(PairDataset, RadiographsAreTheProjectionsOfTheVolumeMirroredOrNot) {
  const Samples samples(small_pairs());
  int mirrored = 0;
  for (int64_t epoch = 0; epoch < 8; ++epoch) {
    const Sample sample = samples.get(epoch, epoch % 3);
    mirrored += sample.at(pair::mirrored).item<bool>() ? 1 : 0;
    const at::Tensor again = projected(sample, samples.pairs), truth = sample.at(pair::radiographs);
    for (int64_t view = 0; view < 2; ++view) {
      EXPECT_GT(correlation_of(again[view], truth[view]), 0.995) << "view " << view << ", epoch " << epoch;
      EXPECT_LT((again[view] - truth[view]).abs().mean().item<double>(), 0.03);
    }
  }
  EXPECT_GT(mirrored, 1);
  EXPECT_LT(mirrored, 7);
}

TEST(PairDataset, AMirroredPatientMirrorsTheFrontalViewAndLeavesTheLateralOne) {
  PairConfig always = small_pairs(), never = small_pairs();
  always.mirror = 1;
  never.mirror = 0;
  always.brightness = never.brightness = 0;
  const Sample mirrored = Samples(always).get(0), plain = Samples(never).get(0);
  EXPECT_TRUE(at::equal(mirrored.at(pair::volume), plain.at(pair::volume).flip({3})));
  EXPECT_TRUE(at::equal(mirrored.at(pair::radiographs)[0], plain.at(pair::radiographs)[0].flip({2})));
  EXPECT_TRUE(at::equal(mirrored.at(pair::radiographs)[1], plain.at(pair::radiographs)[1]));
  // The lateral view is as exactly that of the mirrored volume as it was that of the volume.
  EXPECT_TRUE(at::allclose(projected(mirrored, always)[1], projected(plain, never)[1], 1e-4, 1e-4));
  EXPECT_TRUE(at::allclose(projected(mirrored, always)[0], projected(plain, never)[0].flip({2}), 1e-4, 1e-4));
}

TEST(PairDataset, TheSameKeyGivesTheSameBitsAndValidationIsNotAugmented) {
  const Samples samples(small_pairs()), again(small_pairs());
  for (const auto& [name, tensor] : samples.get(2, 1))
    EXPECT_TRUE(at::equal(tensor, again.get(2, 1).at(name)));
  const auto validation = pair_dataset(phantom_run(), samples.pairs, samples.index, Split::val, 32, 2);
  ASSERT_GT(validation->size(), 0);
  for (int64_t epoch = 0; epoch < 4; ++epoch)
    EXPECT_FALSE(validation->get({.seed = 3, .epoch = epoch, .example = 0}).at(pair::mirrored).item<bool>());
}

TEST(PairDataset, FaultsAreInTheRadiographsOfTrainingAlone) {
  PairConfig pairs = small_pairs();
  const Sample plain = Samples(pairs).get(1);
  pairs.faults = 0.8;
  const Samples samples(pairs);
  const Sample faulty = samples.get(1);
  EXPECT_TRUE(at::equal(faulty.at(pair::volume), plain.at(pair::volume)));
  EXPECT_TRUE(at::equal(faulty.at(pair::rays), plain.at(pair::rays)));
  for (int64_t view = 0; view < 2; ++view) {
    EXPECT_FALSE(at::equal(faulty.at(pair::radiographs)[view], plain.at(pair::radiographs)[view]));
    EXPECT_GT(correlation_of(faulty.at(pair::radiographs)[view], plain.at(pair::radiographs)[view]), 0.7);
  }
  EXPECT_EQ(faulty.at(pair::radiographs).sizes(), plain.at(pair::radiographs).sizes());
  const ExampleKey key{.seed = 3, .epoch = 1, .example = 0};
  EXPECT_TRUE(at::equal(
      pair_dataset(phantom_run(), pairs, samples.index, Split::val, 32, 2)->get(key).at(pair::radiographs),
      pair_dataset(phantom_run(), small_pairs(), samples.index, Split::val, 32, 2)
          ->get(key)
          .at(pair::radiographs)));
}

TEST(PairDataset, UnitsGoThereAndBack) {
  const PairConfig pairs;
  const at::Tensor hu = at::tensor({-1000.0, 0.0, 1000.0, 3000.0}, at::kDouble);
  EXPECT_TRUE(at::allclose(hu_of_unit(unit_of_hu(hu, pairs), pairs), hu));
  EXPECT_TRUE(at::allclose(unit_of_hu(at::tensor({-4000.0, 9000.0}, at::kDouble), pairs),
                           at::tensor({-1.0, 1.0}, at::kDouble)));
  EXPECT_NEAR(attenuation_of_unit(at::tensor({-0.5}, at::kDouble), pairs).item<double>(), 0.0193, 1e-9);
}

TEST(PairDataset, GradientsReachTheVolumeFromTheRadiographs) {
  const Samples samples(small_pairs());
  Sample sample = samples.get(0);
  sample[pair::volume] = sample.at(pair::volume).clone().requires_grad_();
  (projected(sample, samples.pairs) - sample.at(pair::radiographs)).square().mean().backward();
  EXPECT_GT(sample.at(pair::volume).grad().abs().sum().item<double>(), 0);
}

}  // namespace
}  // namespace larmor::xray_to_ct::testing
