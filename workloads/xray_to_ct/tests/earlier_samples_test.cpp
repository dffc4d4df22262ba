#include "workloads/xray_to_ct/stage/earlier_samples.h"

#include <set>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/kernels/draw/draw.h"

#include "workloads/xray_to_ct/data/pair_dataset.h"
#include "workloads/xray_to_ct/stage/cascade_task.h"

namespace larmor::xray_to_ct {
namespace {

/// Radiographs that hold their case's number; a mirrored patient says so.
class NumberedPairs final : public PreparableDataset {
 public:
  explicit NumberedPairs(bool is_mirrored) : is_mirrored_(is_mirrored) {}
  int64_t size() const override { return 3; }
  std::string name(int64_t example) const override { return "case " + std::to_string(example); }
  int64_t cases() const override { return size(); }
  std::string case_name(int64_t number) const override { return name(number); }
  uint64_t prepare(int64_t) const override { return 0; }
  bool is_prepared(int64_t) const override { return true; }
  CachePlace cache_place() const override { return {}; }
  Sample get(const ExampleKey& key) const override {
    return {{pair::radiographs, at::full({2, 1, 2, 2}, static_cast<double>(key.example), at::kFloat)},
            {pair::mirrored, at::scalar_tensor(is_mirrored_, at::kBool)}};
  }

 private:
  bool is_mirrored_;
};

/// Counts how often it samples; a volume is random, around the number of its case.
struct CountedSampling {
  std::shared_ptr<int> made = std::make_shared<int>(0), sampled = std::make_shared<int>(0);

  EarlierSampling sampling(const std::string& hash) const {
    return {.hash = hash, .count = 2, .make = [made = made, sampled = sampled] {
              ++*made;
              return [sampled](const at::Tensor& radiographs) {
                ++*sampled;
                return radiographs.mean() +
                       0.1 * draw_normal_like(at::zeros({1, 1, 2, 2, 2}), "sampling from");
              };
            }};
  }
};

std::unique_ptr<PreparableDataset> dataset_of(const CountedSampling& counted, const DataConfig& data,
                                              bool draws_one, bool is_mirrored = false,
                                              const std::string& hash = "weights") {
  return with_earlier_samples(std::make_unique<NumberedPairs>(is_mirrored),
                              std::make_unique<NumberedPairs>(false), counted.sampling(hash), data, draws_one,
                              data.cache == "none");
}

at::Tensor earlier_of(const Dataset& dataset, int64_t example, int64_t epoch = 0) {
  return dataset.get({.seed = 1, .epoch = epoch, .example = example}).at(CascadeTask::earlier_name);
}

DataConfig kept_in(const ScratchFolder& folder) {
  DataConfig data;
  data.cache = "full";
  data.cache_folder = folder.path().string();
  return data;
}

TEST(EarlierSamples, AreMadeOnceForEachCase) {
  const CountedSampling counted;
  const auto dataset = dataset_of(counted, DataConfig(), /*draws_one=*/false);
  const at::Tensor first = earlier_of(*dataset, 2);
  EXPECT_EQ(first.sizes(), at::IntArrayRef({1, 2, 2, 2}));
  EXPECT_NEAR(first.mean().item<double>(), 2, 0.3);
  EXPECT_TRUE(at::equal(earlier_of(*dataset, 2, 7), first)) << "validation always sees the first";
  EXPECT_NE(earlier_of(*dataset, 1).mean().item<double>(), first.mean().item<double>());
  EXPECT_EQ(*counted.sampled, 2);
  EXPECT_EQ(*counted.made, 1);
}

TEST(EarlierSamples, AreDrawnAmongThoseOfTheCaseInTraining) {
  const CountedSampling counted;
  const auto dataset = dataset_of(counted, DataConfig(), /*draws_one=*/true);
  std::set<double> seen;
  for (int64_t epoch = 0; epoch < 20; ++epoch)
    seen.insert(earlier_of(*dataset, 0, epoch).sum().item<double>());
  EXPECT_EQ(seen.size(), 2U);
  EXPECT_EQ(*counted.sampled, 2);
}

TEST(EarlierSamples, AreTheSameWhoeverMakesThem) {
  const at::Tensor one = earlier_of(*dataset_of({}, DataConfig(), false), 1);
  const at::Tensor other = earlier_of(*dataset_of({}, DataConfig(), false), 1);
  EXPECT_TRUE(at::equal(one, other));
}

TEST(EarlierSamples, AreMirroredWithTheirPatient) {
  const at::Tensor straight = earlier_of(*dataset_of({}, DataConfig(), false), 1);
  const at::Tensor mirrored = earlier_of(*dataset_of({}, DataConfig(), false, /*is_mirrored=*/true), 1);
  EXPECT_TRUE(at::equal(mirrored, straight.flip({3})));
}

TEST(EarlierSamples, AreKeptOnDiskUnderTheWeightsThatMadeThem) {
  const ScratchFolder folder;
  const CountedSampling first, again, others;
  const auto dataset = dataset_of(first, kept_in(folder), /*draws_one=*/true);
  EXPECT_FALSE(dataset->is_prepared(1));
  EXPECT_GT(dataset->prepare(1), 0U);
  EXPECT_TRUE(dataset->is_prepared(1));
  EXPECT_EQ(*first.sampled, 2) << "all of the case";
  EXPECT_TRUE(at::equal(earlier_of(*dataset_of(again, kept_in(folder), true), 1), earlier_of(*dataset, 1)));
  EXPECT_EQ(*again.sampled, 0);
  EXPECT_EQ(*again.made, 0) << "no weights are read where nothing has to be made";
  EXPECT_FALSE(dataset_of(others, kept_in(folder), true, false, "other weights")->is_prepared(1));
}

}  // namespace
}  // namespace larmor::xray_to_ct
