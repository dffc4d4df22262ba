// The volume dataset with each kind of cache: samples are the same bit by bit, and work is done once.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/seed.h"
#include "larmor/data/loader/loader.h"
#include "larmor/data/volume_dataset.h"
#include "larmor/formats/volume.h"

#include "tests/support/cases.h"
#include "tests/support/image_files.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class CachedDataset : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(images());
    for (int number = 0; number < cases; ++number) write(number, number);
  }

  static constexpr int cases = 6;
  fs::path images() const { return scratch_.path() / "images"; }
  fs::path image(int number) const { return images() / ("case" + std::to_string(number) + ".nii.gz"); }
  fs::path store() const { return scratch_.path() / "store"; }

  void write(int number, uint64_t seed) {
    at::Tensor voxels = at::empty({1, 40, 36, 44}, at::kFloat);
    fill_normal(make_key(seed, 0, 0, "voxels"),
                {voxels.mutable_data_ptr<float>(), static_cast<std::size_t>(voxels.numel())});
    Affine affine = identity_affine();
    affine[0][0] = -1.25;
    affine[2][2] = 1.5;
    write_nifti(storage_, image(number), {voxels.mul(300).round(), affine});
  }

  std::unique_ptr<PreparableDataset> open(const std::string& cache, const Json& chain) const {
    DataConfig data;
    data.folder = images().string();
    data.split.train = 1;
    data.split.val = data.split.test = 0;
    data.cache = cache;
    data.cache_folder = store().string();
    return make_volume_dataset(data, make_index(data, 1), Split::train, chain);
  }

  std::vector<fs::path> entries() const {
    std::vector<fs::path> found;
    if (!fs::exists(store())) return found;
    for (const auto& item : fs::recursive_directory_iterator(store())) {
      if (item.path().extension() == ".entry") found.push_back(item.path());
    }
    return found;
  }

  ScratchFolder scratch_;
  DiskStorage storage_;
};

Json chain_of(const std::string& steps) { return parse_json(steps, "chain"); }

bool same_voxels(const at::Tensor& left, const at::Tensor& right) {
  const at::Tensor a = left.contiguous(), b = right.contiguous();
  return a.sizes() == b.sizes() &&
         std::memcmp(a.const_data_ptr(), b.const_data_ptr(), static_cast<std::size_t>(a.nbytes())) == 0;
}

const char* const chains[] = {
    "[]",
    R"([{"Orientation": {"axcodes": "RAS"}}])",
    R"([{"Orientation": {"axcodes": "RAS"}}, {"RandSpatialCrop": {"roi_size": [16, 16, 16], "random_size": false}},
        {"ScaleIntensityRangePercentiles": {"lower": 0, "upper": 99.5, "b_min": 0, "b_max": 1}}])",
    R"([{"Spacing": {"pixdim": [1, 1, 1]}}, {"RandSpatialCrop": {"roi_size": [20, 20, 20], "random_size": false}},
        {"RandFlip": {"prob": 0.5, "spatial_axis": 0}}, {"NormalizeIntensity": {}}])",
    R"([{"Orientation": {"axcodes": "LPS"}}, {"RandFlip": {"prob": 0.5, "spatial_axis": 1}},
        {"RandSpatialCrop": {"roi_size": [16, 50, 16], "random_size": false}}, {"NormalizeIntensity": {}}])",
    R"([{"RandRotate90": {"prob": 0.7}}, {"RandGaussianNoise": {"prob": 0.8}}])",
    R"([{"NormalizeIntensity": {}}, {"RandAffine": {"prob": 0.9, "rotate_range": [0.2, 0.1, 0.3]}},
        {"RandSpatialCrop": {"roi_size": [12, 12, 12], "random_size": false}}])",
    R"([{"RandScaleIntensity": {"prob": 1, "factors": 0.2}}, {"NormalizeIntensity": {}}])"};

TEST_F(CachedDataset, GivesTheSameBitsWhateverTheCache) {
  for (const char* const steps : chains) {
    SCOPED_TRACE(steps);
    const Json chain = chain_of(steps);
    const auto none = open("none", chain), full = open("full", chain), smart = open("smart", chain);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      for (int64_t example = 0; example < cases; ++example) {
        const at::Tensor expected = none->get({1, epoch, example}).at("image");
        ASSERT_TRUE(same_voxels(full->get({1, epoch, example}).at("image"), expected));
        ASSERT_TRUE(same_voxels(smart->get({1, epoch, example}).at("image"), expected));
      }
    }
  }
}

TEST_F(CachedDataset, WritesNothingWithoutACache) {
  open("none", chain_of(chains[2]))->get({1, 0, 0});
  EXPECT_FALSE(fs::exists(store()));
}

TEST_F(CachedDataset, PreparesOncePerContentAndDeterministicSteps) {
  const auto first = open("full", chain_of(chains[2]));
  EXPECT_FALSE(first->is_prepared(0));
  const uint64_t bytes = first->prepare(0);
  EXPECT_TRUE(first->is_prepared(0));
  ASSERT_EQ(entries().size(), 1U);
  EXPECT_EQ(bytes, fs::file_size(entries().front()));
  first->get({1, 0, 0});
  EXPECT_EQ(entries().size(), 1U);
  // Another random part is served by the same entry; another deterministic one is not.
  open("full", chain_of(R"([{"Orientation": {"axcodes": "RAS"}}])"))->get({1, 0, 0});
  EXPECT_EQ(entries().size(), 1U);
  open("full", chain_of(R"([{"Orientation": {"axcodes": "LPS"}}])"))->get({1, 0, 0});
  EXPECT_EQ(entries().size(), 2U);
  // So are equal contents in another place.
  fs::copy_file(image(0), image(0).string() + ".copy");
  fs::rename(image(0).string() + ".copy", image(1));
  first->get({1, 0, 1});
  EXPECT_EQ(entries().size(), 2U);
}

TEST_F(CachedDataset, SeesThatAFileHasChanged) {
  const Json chain = chain_of("[]");
  open("full", chain)->get({1, 0, 0});
  write(0, 77);
  EXPECT_TRUE(same_voxels(open("full", chain)->get({1, 0, 0}).at("image"), read_volume(image(0)).voxels));
}

TEST_F(CachedDataset, KeepsNoNewVoxelsUnderTheKeyOfWhatWasThereBefore) {
  for (const char* const kind : {"full", "smart"}) {
    SCOPED_TRACE(kind);
    fs::remove_all(store());
    write(0, 0);
    const at::Tensor before = read_volume(image(0)).voxels;
    const auto running = open(kind, chain_of("[]"));
    EXPECT_FALSE(running->is_prepared(0)) << "from here on the case has a key";
    write(0, 77);
    const at::Tensor after = read_volume(image(0)).voxels;
    EXPECT_TRUE(same_voxels(running->get({1, 0, 0}).at("image"), after));
    write(0, 0);
    EXPECT_TRUE(same_voxels(open("full", chain_of("[]"))->get({1, 0, 0}).at("image"), before))
        << "another run on the old file was given the new one's voxels";
  }
}

TEST_F(CachedDataset, MakesADamagedBrickAnewAndSaysSoOnce) {
  const auto dataset = open("full", chain_of("[]"));
  const at::Tensor expected = dataset->get({1, 0, 0}).at("image");
  for (int round = 0; round < 2; ++round) {
    // Spoilt in place, as a failing disk would: the open mapping sees it.
    std::FILE* const file = std::fopen(entries().front().c_str(), "r+b");
    ASSERT_NE(file, nullptr);
    std::fseek(file, -3, SEEK_END);
    const int present = std::fgetc(file);
    std::fseek(file, -3, SEEK_END);
    std::fputc(present ^ 1, file);
    std::fclose(file);
    ::testing::internal::CaptureStderr();
    EXPECT_TRUE(same_voxels(dataset->get({1, 1, 0}).at("image"), expected));
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("made anew") != std::string::npos, round == 0) << said;
    EXPECT_EQ(entries().size(), 1U);
  }
}

TEST_F(CachedDataset, SaysWhichFileIsBad) {
  testing::write_file(image(2), "not an image");
  const auto dataset = open("full", chain_of("[]"));
  const auto error = testing::error_of([&] { dataset->get({1, 0, 2}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("case2.nii.gz"));
}

TEST_F(CachedDataset, ShowsEveryCaseThroughSmartCachesWindow) {
  DataConfig data;
  data.cache = "smart";
  const auto dataset = open("smart", chain_of(chains[2])), plain = open("none", chain_of(chains[2]));
  for (const int workers : {0, 3}) {
    ExampleOrder expected = make_order(data, 5, cases);
    Loader loader(*dataset, make_order(data, 5, cases), {}, 0, {.workers = workers});
    std::set<int64_t> seen;
    for (int64_t step = 0; step < 24; ++step) {
      const Batch batch = loader.next();
      ASSERT_EQ(batch.keys.front(), expected.at(step));
      ASSERT_TRUE(same_voxels(batch.at("image")[0], plain->get(batch.keys.front()).at("image")));
      seen.insert(batch.keys.front().example);
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(cases));
  }
}

}  // namespace
}  // namespace larmor
