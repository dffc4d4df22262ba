#include "larmor/data/volume_dataset.h"

#include <thread>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/data/loader/loader.h"
#include "larmor/data/synthetic/phantom.h"
#include "larmor/formats/volume.h"

#include "tests/support/cases.h"
#include "tests/support/image_files.h"
#include "tests/support/picture_files.h"

namespace larmor {
namespace {

using testing::CaseFolder;
using testing::error_of;
using ::testing::HasSubstr;

const Json no_transforms = Json::array();

// All cases in train.
DataConfig config(const std::string& kind, const CaseFolder& folder) {
  DataConfig data;
  data.kind = kind;
  data.folder = folder.path().string();
  data.split.train = 1;
  data.split.val = 0;
  data.split.test = 0;
  return data;
}

std::unique_ptr<Dataset> open(const DataConfig& data, const Json& transforms = no_transforms,
                              const SampleForm& form = {}) {
  return make_volume_dataset(data, make_index(data, 1), Split::train, transforms, form);
}

Json random_crop(int64_t size) {
  return parse_json(text(R"([{"RandSpatialCrop": {"roi_size": [)", size, ", ", size, ", ", size,
                         R"(], "random_size": false}}])"),
                    "chain");
}

TEST(VolumeDataset, ReadsVolumesChannelFirst) {
  CaseFolder folder;
  folder.volume("a/1.nii", 5).volume("b/2.nii.gz", 7);
  const auto dataset = open(config("nifti", folder));
  ASSERT_EQ(dataset->size(), 2);
  EXPECT_EQ(dataset->name(1), "b/2.nii.gz");
  const Sample sample = dataset->get({1, 0, 1});
  ASSERT_EQ(sample.size(), 1U);
  EXPECT_EQ(sample.at("image").sizes(), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(sample.at("image").scalar_type(), at::kFloat);
  EXPECT_EQ(sample.at("image").mean().item<float>(), 7);
}

TEST(VolumeDataset, HoldsTheCasesOfItsSplit) {
  CaseFolder folder;
  folder.volume("a.nii", 1).volume("b.nii", 2).volume("c.nii", 3);
  DataConfig data = config("nifti", folder);
  data.split.val = Json::array({"b"});
  const auto val = make_volume_dataset(data, make_index(data, 1), Split::val, no_transforms);
  ASSERT_EQ(val->size(), 1);
  EXPECT_EQ(val->name(0), "b.nii");
  EXPECT_EQ(val->get({1, 0, 0}).at("image").mean().item<float>(), 2);
}

TEST(VolumeDataset, TakesAPairOfVolumesApart) {
  CaseFolder folder;
  folder.archive("pair.npz", {2, 3, 4, 5}).archive("single.npz", {3, 4, 5});
  const auto dataset = open(config("npz", folder));
  const Sample pair = dataset->get({1, 0, 0});
  ASSERT_EQ(pair.size(), 2U);
  EXPECT_EQ(pair.at("image").sizes(), (std::vector<int64_t>{1, 3, 4, 5}));
  EXPECT_EQ(pair.at("image").min().item<float>(), 0);
  EXPECT_EQ(pair.at("label").min().item<float>(), 60);
  EXPECT_EQ(pair.at("label").sizes(), pair.at("image").sizes());
  const Sample single = dataset->get({1, 0, 1});
  ASSERT_EQ(single.size(), 1U);
  EXPECT_EQ(single.at("image").sizes(), (std::vector<int64_t>{1, 3, 4, 5}));
}

TEST(VolumeDataset, CutsTheSameRegionOutOfImageAndLabel) {
  CaseFolder folder;
  folder.archive("pair.npz", {2, 6, 7, 8});
  const auto dataset = open(config("npz", folder), random_crop(3));
  std::set<float> corners;
  for (int64_t epoch = 0; epoch < 12; ++epoch) {
    const Sample sample = dataset->get({1, epoch, 0});
    EXPECT_TRUE((sample.at("label") - sample.at("image")).eq(6 * 7 * 8).all().item<bool>());
    corners.insert(sample.at("image").min().item<float>());
    EXPECT_TRUE(dataset->get({1, epoch, 0}).at("image").equal(sample.at("image")));
  }
  EXPECT_GT(corners.size(), 4U);
}

TEST(VolumeDataset, MakesChannelsOfModalities) {
  CaseFolder folder;
  folder.volume("t1.nii", 1).volume("flair.nii", 2).volume("seg.nii", 3);
  folder.file("list.csv", "patient,image_t1,image_flair,label\np1,t1.nii,flair.nii,seg.nii\n");
  DataConfig data = config("list", folder);
  data.list = (folder.path() / "list.csv").string();
  const Sample sample = open(data)->get({1, 0, 0});
  EXPECT_EQ(sample.at("image").sizes(), (std::vector<int64_t>{2, 2, 3, 4}));
  EXPECT_EQ(sample.at("image")[0].mean().item<float>(), 1) << "in the order of the list's columns";
  EXPECT_EQ(sample.at("image")[1].mean().item<float>(), 2);
  EXPECT_EQ(sample.at("mask_label").mean().item<float>(), 3);
  EXPECT_EQ(open(data, no_transforms, {.only = {"image"}})->get({1, 0, 0}).size(), 1U);
}

/// Two patients with t1n and t2f, the second without t2f; and what their radiographs show.
DataConfig two_patients(CaseFolder& folder) {
  folder.volume("p1-t1n.nii", 1).volume("p1-t2f.nii", 2).volume("p2-t1n.nii", 3);
  folder.archive("p1_pa.npz", {5, 7}).archive("p2_pa.npz", {9, 6});
  folder.file("list.csv",
              "patient,image_t1n,image_t2f,image_pa\np1,p1-t1n.nii,p1-t2f.nii,p1_pa.npz\n"
              "p2,p2-t1n.nii,,p2_pa.npz\n");
  DataConfig data = config("list", folder);
  data.list = (folder.path() / "list.csv").string();
  return data;
}

std::vector<float> means_of(const at::Tensor& image) {
  std::vector<float> means;
  for (int64_t channel = 0; channel < image.size(0); ++channel)
    means.push_back(image[channel].mean().item<float>());
  return means;
}

TEST(VolumeDataset, OrdersChannelsAsTheFormSays) {
  CaseFolder folder;
  const auto dataset = open(two_patients(folder), no_transforms, {.channels = {"t2f", "t1n"}});
  EXPECT_EQ(means_of(dataset->get({1, 0, 0}).at("image")), (std::vector<float>{2, 1}));
  EXPECT_EQ(dataset->get({1, 0, 0}).size(), 1U) << "no mask of what is present, no radiograph";
}

TEST(VolumeDataset, RefusesACaseThatLacksAChannel) {
  CaseFolder folder;
  const auto dataset = open(two_patients(folder), no_transforms, {.channels = {"t1n", "t2f"}});
  const auto error = error_of([&] { dataset->get({1, 0, 1}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("the case has no t2f, one of t1n, t2f"));
}

TEST(VolumeDataset, MakesMissingChannelsZerosWithAMaskOfThosePresent) {
  CaseFolder folder;
  const DataConfig data = two_patients(folder);
  const SampleForm form{.channels = {"t1n", "t2f"}, .missing_as_zeros = true};
  const auto dataset = open(data, no_transforms, form);
  const Sample whole = dataset->get({1, 0, 0}), half = dataset->get({1, 0, 1});
  EXPECT_TRUE(whole.at("present").all().item<bool>());
  EXPECT_TRUE(half.at("present")[0].item<bool>());
  EXPECT_FALSE(half.at("present")[1].item<bool>());
  EXPECT_EQ(means_of(half.at("image")), (std::vector<float>{3, 0}));
  EXPECT_EQ(collate({whole, half}, {{1, 0, 0}, {1, 0, 1}}).at("present").sizes(),
            (std::vector<int64_t>{2, 2}));
}

TEST(VolumeDataset, LeavesFilesOnTheirOwnGridsAsTheyAre) {
  CaseFolder folder;
  const DataConfig data = two_patients(folder);
  const SampleForm form{.channels = {"t1n"}, .own_grids = {"pa"}};
  const auto dataset =
      open(data, parse_json(R"([{"CenterSpatialCrop": {"roi_size": 2, "keys": "image"}}])", "chain"), form);
  const Sample second = dataset->get({1, 0, 1});
  EXPECT_EQ(second.at("image").sizes(), (std::vector<int64_t>{1, 2, 2, 2}));
  EXPECT_EQ(second.at("pa").sizes(), (std::vector<int64_t>{1, 9, 6, 1}));
}

TEST(VolumeDataset, KeepsWhatTheFormSaysApartInTheCache) {
  CaseFolder folder;
  ScratchFolder store;
  DataConfig data = two_patients(folder);
  data.cache = "full";
  data.cache_folder = store.path().string();
  for (int round = 0; round < 2; ++round) {
    const auto one = open(data, no_transforms, {.channels = {"t1n", "t2f"}});
    const auto other = open(data, no_transforms, {.channels = {"t2f", "t1n"}});
    EXPECT_EQ(means_of(one->get({1, 0, 0}).at("image")), (std::vector<float>{1, 2}));
    EXPECT_EQ(means_of(other->get({1, 0, 0}).at("image")), (std::vector<float>{2, 1}));
  }
}

TEST(VolumeDataset, RefusesModalitiesOnDifferentGrids) {
  CaseFolder folder;
  folder.volume("t1.nii", 1).archive("other.npz", {2, 3, 5});
  folder.file("list.csv", "patient,image_a,image_b\np1,t1.nii,other.npz\n");
  DataConfig data = config("list", folder);
  data.list = (folder.path() / "list.csv").string();
  const auto dataset = open(data);
  const auto error = error_of([&] { dataset->get({1, 0, 0}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("other.npz"));
}

// A case of one image and one other file, which the list calls `name`.
DataConfig pair_of(CaseFolder& folder, const std::string& name, const std::string& file) {
  folder.file("list.csv", text("patient,image,", name, "\np1,image.nii,", file, "\n"));
  DataConfig data = config("list", folder);
  data.list = (folder.path() / "list.csv").string();
  return data;
}

// 2 x 3 x 4 voxels that count from 0 along the first axis, which runs to the left when it is flipped.
void write_ramp(const std::filesystem::path& path, bool flipped, double offset = 0) {
  Volume volume;
  volume.voxels = at::arange(24, at::kFloat).reshape({1, 4, 3, 2}).permute({0, 3, 2, 1});
  volume.affine[0] =
      flipped ? std::array<double, 4>{-1, 0, 0, 1 + offset} : std::array<double, 4>{1, 0, 0, offset};
  if (flipped) volume.voxels = volume.voxels.flip(1);
  DiskStorage storage;
  write_nifti(storage, path, volume);
}

TEST(VolumeDataset, KeepsMasksUnderTheirNames) {
  CaseFolder folder;
  folder.volume("image.nii", 7).volume("brain.nii", 1);
  const Sample sample = open(pair_of(folder, "mask_brain", "brain.nii"))->get({1, 0, 0});
  ASSERT_EQ(sample.size(), 2U);
  EXPECT_EQ(sample.at("mask_brain").mean().item<float>(), 1);
}

TEST(VolumeDataset, RefusesMasksThatHoldNoClasses) {
  CaseFolder folder;
  folder.volume("image.nii", 7).volume("mask.nii", -3);
  const auto error = error_of([&] { open(pair_of(folder, "mask", "mask.nii"))->get({1, 0, 0}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("mask.nii: a mask holds classes"));
  EXPECT_THAT(error->message(), HasSubstr("-3"));
}

TEST(VolumeDataset, TakesTheSameGridInAnotherOrderOfAxes) {
  CaseFolder folder;
  write_ramp(folder.path() / "image.nii", false);
  write_ramp(folder.path() / "label.nii", true);
  const Sample sample = open(pair_of(folder, "label", "label.nii"))->get({1, 0, 0});
  EXPECT_TRUE(sample.at("label").equal(sample.at("image")));
}

TEST(VolumeDataset, RefusesALabelElsewhereUnlessItIsToBeResampled) {
  CaseFolder folder;
  write_ramp(folder.path() / "image.nii", false);
  write_ramp(folder.path() / "label.nii", false, 0.5);
  DataConfig data = pair_of(folder, "label", "label.nii");
  const auto error = error_of([&] { open(data)->get({1, 0, 0}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("label.nii"));
  EXPECT_THAT(error->message(), HasSubstr("image.nii"));
  EXPECT_THAT(error->hint(), HasSubstr("data.grids=resample"));
  data.grids = "resample";
  const Sample sample = open(data)->get({1, 0, 0});
  // Half a voxel to the right of the label's: between its first two there, its border beyond.
  const auto image = sample.at("image"), label = sample.at("label");
  EXPECT_TRUE(label[0][0].equal(image[0][0]));
  EXPECT_TRUE(label[0][1].allclose((image[0][0] + image[0][1]) / 2));
}

TEST(VolumeDataset, SamplesMasksByTheNearestVoxel) {
  CaseFolder folder;
  write_ramp(folder.path() / "image.nii", false);
  write_ramp(folder.path() / "mask.nii", false, 0.4);
  DataConfig data = pair_of(folder, "mask", "mask.nii");
  data.grids = "resample";
  const Sample sample = open(data)->get({1, 0, 0});
  EXPECT_TRUE(sample.at("mask").equal(sample.at("image")));
}

TEST(VolumeDataset, CutsSeveralCropsOutOfEachVolume) {
  CaseFolder folder;
  folder.archive("a.npz", {12, 11, 10}).archive("b.npz", {12, 11, 10});
  const Json crops =
      parse_json(R"([{"RandSpatialCropSamples": {"roi_size": 4, "num_samples": 3}}])", "chain");
  const auto dataset = open(config("npz", folder), crops);
  EXPECT_EQ(dataset->size(), 6);
  EXPECT_EQ(dataset->examples_per_case(), 3);
  EXPECT_EQ(dataset->name(2), "a.npz");
  EXPECT_EQ(dataset->name(3), "b.npz");
  std::set<float> corners;
  for (int64_t example = 0; example < 6; ++example) {
    const Sample sample = dataset->get({1, 0, example});
    EXPECT_EQ(sample.at("image").sizes(), (std::vector<int64_t>{1, 4, 4, 4}));
    corners.insert(sample.at("image").min().item<float>());
    EXPECT_TRUE(dataset->get({1, 0, example}).at("image").equal(sample.at("image")));
  }
  EXPECT_GT(corners.size(), 4U) << "each crop is drawn on its own";
}

TEST(VolumeDataset, NamesTheContentsOfAnExample) {
  CaseFolder folder;
  folder.volume("a.nii", 5).volume("b.nii", 5).volume("c.nii", 6);
  const auto dataset = open(config("nifti", folder));
  EXPECT_EQ(dataset->content_hash(0).size(), 64U);
  EXPECT_EQ(dataset->content_hash(0), dataset->content_hash(1));
  EXPECT_NE(dataset->content_hash(0), dataset->content_hash(2));
  std::filesystem::remove(folder.path() / "c.nii");
  EXPECT_EQ(dataset->content_hash(2), "");
}

TEST(VolumeDataset, MakesPicturesOfAnyKindAlike) {
  CaseFolder folder;
  testing::write_file(folder.path() / "a.jpg", testing::jpeg_of(40, 30, 3));
  testing::write_file(folder.path() / "b.png",
                      testing::png_of(2, 2, testing::PngKind::grey, 8, {10, 20, 30, 40}));
  const Json chain = Json::parse(
      R"([{"LoadImage": {"converter": "L"}}, {"Resize": {"spatial_size": [4, 4]}}, {"Clip": {"max": 35}}])");
  const auto dataset = open(config("picture", folder), chain);
  for (int64_t example = 0; example < 2; ++example) {
    const ExampleKey key{.example = example};
    EXPECT_EQ(dataset->get(key).at("image").sizes(), (std::vector<int64_t>{1, 4, 4, 1}));
  }
  const at::Tensor second = dataset->get({.example = 1}).at("image");
  EXPECT_EQ(second[0][0][3][0].item<float>(), 30);
  EXPECT_EQ(second[0][3][3][0].item<float>(), 35) << "the rest of the chain is done too";
}

TEST(VolumeDataset, GivesPhantomsByTheirNumberInTheWholeIndex) {
  DataConfig data;
  data.kind = "phantom";
  data.phantom_cases = 6;
  data.phantom_size = {12, 12, 12};
  data.phantom_seed = 9;
  const Index index = make_index(data, 1);
  for (const Split split : {Split::train, Split::val, Split::test}) {
    const auto dataset = make_volume_dataset(data, index, split, no_transforms);
    const auto numbers = index.of(split);
    ASSERT_EQ(dataset->size(), static_cast<int64_t>(numbers.size()));
    for (int64_t i = 0; i < dataset->size(); ++i) {
      const Volume expected = make_phantom(9, numbers[static_cast<size_t>(i)], {12, 12, 12});
      EXPECT_TRUE(dataset->get({1, 0, i}).at("image").equal(expected.voxels));
    }
  }
}

TEST(VolumeDataset, MakesAPhantomOnceAndProtectsItFromWriters) {
  DataConfig data;
  data.kind = "phantom";
  data.phantom_cases = 1;
  data.phantom_size = {12, 12, 12};
  data.split.train = 1;
  data.split.val = data.split.test = 0;
  const auto dataset = open(data);
  const at::Tensor first = dataset->get({1, 0, 0}).at("image").clone();
  dataset->get({1, 0, 0}).at("image").fill_(99);
  EXPECT_TRUE(dataset->get({1, 1, 0}).at("image").equal(first));
}

TEST(VolumeDataset, TriesAFileAgainThatCouldNotBeRead) {
  CaseFolder folder;
  folder.volume("a.nii", 5);
  const auto dataset = open(config("nifti", folder));
  std::filesystem::rename(folder.path() / "a.nii", folder.path() / "b");
  const auto error = error_of([&] { dataset->get({1, 0, 0}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("a.nii"));
  std::filesystem::rename(folder.path() / "b", folder.path() / "a.nii");
  EXPECT_EQ(dataset->get({1, 0, 0}).at("image").mean().item<float>(), 5);
}

TEST(VolumeDataset, ServesManyThreadsAtOnce) {
  DataConfig data;
  data.kind = "phantom";
  data.phantom_cases = 4;
  data.phantom_size = {16, 16, 16};
  data.split.train = 1;
  data.split.val = 0;
  data.split.test = 0;
  const auto dataset = open(data, random_crop(8));
  const auto fresh = open(data, random_crop(8));
  Loader loader(*dataset, ExampleOrder(1, 4), {.global_batch = 2, .micro_batch = 2}, 0, {.workers = 4});
  for (int i = 0; i < 20; ++i) {
    const Batch batch = loader.next();
    for (int64_t k = 0; k < 2; ++k) {
      EXPECT_TRUE(batch.at("image")[k].equal(fresh->get(batch.keys[static_cast<size_t>(k)]).at("image")));
    }
  }
}

TEST(VolumeDataset, RefusesAChainThatDoesNotExist) {
  CaseFolder folder;
  folder.volume("a.nii", 5);
  EXPECT_TRUE(error_of([&] { open(config("nifti", folder), parse_json(R"([{"Spicing": {}}])", "chain")); }));
}

}  // namespace
}  // namespace larmor
