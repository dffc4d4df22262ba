// Whatever the workers, the ranks, the cache and the place where a run was resumed: a step's batch has the
// same bytes.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/hash.h"
#include "larmor/base/seed.h"
#include "larmor/base/text.h"
#include "larmor/data/loader/loader.h"
#include "larmor/data/volume_dataset.h"
#include "larmor/formats/volume.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t seed = 42;
constexpr int64_t global_batch = 4, steps = 6;  // over the end of an epoch, whatever the cache
constexpr int damaged = 3;

class SameBatches : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    DiskStorage storage;
    for (int number = 0; number < 7; ++number) {
      at::Tensor voxels = at::empty({1, 18, 16, 20}, at::kFloat);
      fill_normal(make_key(seed, 0, static_cast<uint64_t>(number), "voxels"),
                  {voxels.mutable_data_ptr<float>(), static_cast<std::size_t>(voxels.numel())});
      const fs::path file = folder_.path() / text("case", number, ".nii");
      write_nifti(storage, file, {.voxels = voxels, .affine = identity_affine()});
      // Cut short behind what the index looks at: quarantined when its turn comes.
      if (number == damaged) fs::resize_file(file, fs::file_size(file) - 64);
    }
  }

  std::unique_ptr<PreparableDataset> open() {
    data_.folder = folder_.path().string();
    data_.split.train = 1;
    data_.split.val = data_.split.test = 0;
    data_.cache = GetParam();
    data_.cache_folder = (store_.path() / "store").string();
    const Json chain = parse_json(R"([{"Spacing": {"pixdim": [1.3, 1.1, 1]}},
                                      {"ScaleIntensityRangePercentiles":
                                        {"lower": 1, "upper": 99, "b_min": 0, "b_max": 1}},
                                      {"RandSpatialCropSamples": {"roi_size": 8, "num_samples": 2}},
                                      {"RandFlip": {"prob": 0.5, "spatial_axis": 0}},
                                      {"RandAffine": {"prob": 0.8, "rotate_range": [0.2, 0.2, 0.2]}},
                                      {"RandGaussianNoise": {"prob": 0.5}}])",
                                  "chain");
    return make_volume_dataset(data_, make_index(data_, seed), Split::train, chain);
  }

  // Hashes of the micro-batches in the order of their positions, a step after another.
  std::vector<std::string> micro_batches(int workers, int ranks, int64_t from_step) {
    std::vector<std::string> hashes(static_cast<size_t>((steps - from_step) * global_batch));
    for (int rank = 0; rank < ranks; ++rank) {
      const auto dataset = open();
      const BatchSlice share{.global_batch = global_batch,
                             .micro_batch = 1,
                             .accumulation = global_batch / ranks,
                             .rank = rank,
                             .ranks = ranks};
      Loader loader(*dataset, make_order(data_, seed, *dataset), share, from_step * global_batch,
                    {.workers = workers, .prefetch = 3, .bad_files = 1});
      for (int64_t step = 0; step < steps - from_step; ++step) {
        for (int64_t micro = 0; micro < share.accumulation; ++micro) {
          const auto place = step * global_batch + rank * share.accumulation + micro;
          hashes[static_cast<size_t>(place)] = hash_of(loader.next());
        }
      }
    }
    return hashes;
  }

 private:
  static std::string hash_of(const Batch& batch) {
    const at::Tensor& image = batch.at("image");
    return sha256({reinterpret_cast<const char*>(image.const_data_ptr<float>()),
                   static_cast<std::size_t>(image.numel()) * sizeof(float)});
  }

  ScratchFolder folder_, store_;
  DataConfig data_;
};

TEST_P(SameBatches, WhateverTheWorkersTheRanksAndTheStepOfAResume) {
  const auto expected = micro_batches(0, 1, 0);
  // Both crops of the damaged file, in either epoch, are another's.
  EXPECT_EQ(std::set<std::string>(expected.begin(), expected.end()).size(), expected.size() - 4);
  for (const int workers : {0, 1, 4}) {
    for (const int ranks : {1, 2, 4}) {
      for (int64_t from_step = 0; from_step < steps; ++from_step) {
        const std::vector<std::string> rest(expected.begin() + from_step * global_batch, expected.end());
        EXPECT_EQ(micro_batches(workers, ranks, from_step), rest)
            << workers << " workers, " << ranks << " ranks, resumed at step " << from_step;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryCache, SameBatches, ::testing::Values("none", "full", "smart"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace larmor
