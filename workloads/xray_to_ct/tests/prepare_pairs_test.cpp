#include <string>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/formats/volume.h"

#include "workloads/xray_to_ct/data/chest_phantom.h"
#include "workloads/xray_to_ct/data/pair_dataset.h"
#include "workloads/xray_to_ct/data/pair_geometry.h"
#include "workloads/xray_to_ct/data/radiograph_pair.h"

#include "tests/support/strangers.h"

namespace larmor::xray_to_ct::testing {
namespace {

using ::testing::HasSubstr;

/// Two chests as CTs, and a volume that is none.
class CtFolder {
 public:
  CtFolder() {
    storage_.create_folders(cts_.path() / "sub");
    write_nifti(storage_, cts_.path() / "one.nii.gz", draw_chest(chest_parts(1, 1), 400, 80));
    write_nifti(storage_, cts_.path() / "sub" / "two.nii.gz", draw_chest(chest_parts(1, 2), 400, 80));
    Volume counts = draw_chest(chest_parts(1, 3), 400, 40);
    counts.voxels = counts.voxels + 1024;
    write_nifti(storage_, cts_.path() / "none.nii.gz", counts);
    config.data.kind = pairs_kind;
    config.data.folder = set_.path().string();
    pairs.ct = cts_.path().string();
    pairs.volume_size = 64;
    pairs.radiograph_size = 96;
  }

  PrepareContext prepare() {
    PrepareContext context{.storage = storage_};
    prepare_pairs(config, pairs, pair_index(config, pairs), context);
    return context;
  }
  std::filesystem::path set(const std::string& name) const { return set_.path() / name; }

  RunConfig config;
  PairConfig pairs;

 private:
  DiskStorage storage_;
  ScratchFolder cts_, set_;
};

TEST(PreparePairs, CtsBecomeAFolderOfPairsThatTrainingReads) {
  CtFolder folder;
  const PrepareContext made = folder.prepare();
  EXPECT_EQ(made.outputs.at("pairs").at("made").get<int>(), 2);
  ASSERT_EQ(made.bad.size(), 1U);
  EXPECT_EQ(made.bad[0].path, "none.nii.gz");
  EXPECT_THAT(made.bad[0].reason, HasSubstr("are not HU"));
  ASSERT_EQ(made.outputs.at("alignment").size(), 2U);
  for (const Json& entry : made.outputs.at("alignment")) {
    EXPECT_GE(entry.at("frontal").get<double>(), 0.99);
    EXPECT_GE(entry.at("lateral").get<double>(), 0.99);
  }
  EXPECT_THAT(made.lines[0], HasSubstr("one.nii.gz: correlation of the frontal radiograph with its CT "));

  PairConfig trained = folder.pairs;
  trained.ct = "";
  trained.augmentation = false;
  const Index index = pair_index(folder.config, trained);
  ASSERT_EQ(index.cases.size(), 2U);
  int64_t read = 0;
  for (const Split split : {Split::train, Split::val, Split::test}) {
    const auto dataset = pair_dataset(folder.config, trained, index, split, 32, 2);
    for (int64_t i = 0; i < dataset->size(); ++i, ++read) {
      const Sample sample = dataset->get({.seed = 1, .epoch = 0, .example = i});
      EXPECT_EQ(sample.at(pair::radiographs).sizes(), at::IntArrayRef({2, 1, 96, 96}));
      const at::Tensor again =
          radiographs_of(sample.at(pair::volume).unsqueeze(0), sample.at(pair::rays).unsqueeze(0),
                         sample.at(pair::intensity).unsqueeze(0), 96, 96, trained)[0];
      EXPECT_LT((again - sample.at(pair::radiographs)).abs().mean().item<double>(), 0.03);
      EXPECT_GT(correlation_of(again, sample.at(pair::radiographs)), 0.99);
    }
  }
  EXPECT_EQ(read, 2);
}

TEST(PreparePairs, WhatIsThereStaysAndWhatWasMadeOtherwiseIsMadeAgain) {
  CtFolder folder;
  folder.prepare();
  const auto written = std::filesystem::last_write_time(folder.set("one/one.nii.gz"));
  EXPECT_EQ(folder.prepare().outputs.at("pairs").at("made").get<int>(), 0);
  EXPECT_EQ(std::filesystem::last_write_time(folder.set("one/one.nii.gz")), written);
  // One that was left half-written, and one whose geometry was damaged.
  std::filesystem::remove(folder.set("one/one_geometry.json"));
  DiskStorage storage;
  write_text(storage, folder.set("sub_two/sub_two_geometry.json"), "{\"extent\": 3}");
  EXPECT_EQ(folder.prepare().outputs.at("pairs").at("made").get<int>(), 2);
  folder.pairs.beam = "parallel";
  EXPECT_EQ(folder.prepare().outputs.at("pairs").at("made").get<int>(), 2);
}

TEST(PreparePairs, WhatOthersHavePutBesideAPairStays) {
  const ScratchFolder outside;
  CtFolder folder;
  folder.prepare();
  const larmor::testing::Strangers strangers(outside.path(), {folder.set("one/notes")});
  folder.pairs.beam = "parallel";
  const PrepareContext again = folder.prepare();
  EXPECT_EQ(again.outputs.at("pairs").at("made").get<int>(), 1) << "the other one";
  ASSERT_EQ(again.bad.size(), 2U);
  EXPECT_THAT(again.bad[1].reason, HasSubstr("lies where a pair of radiographs and a CT is to be made anew"));
  strangers.expect_there();
  EXPECT_TRUE(std::filesystem::exists(folder.set("one/one.nii.gz"))) << "until its place is free";
}

TEST(PreparePairs, AFolderOfPairsIsListedWithItsCorrelations) {
  CtFolder folder;
  folder.prepare();
  folder.pairs.ct = "";
  const PrepareContext listed = folder.prepare();
  EXPECT_EQ(listed.outputs.at("alignment").size(), 2U);
  EXPECT_TRUE(listed.bad.empty());
  EXPECT_FALSE(listed.outputs.contains("pairs"));
  // The radiographs of one case beside the CT of the other.
  for (const char* view : {"_pa_drr.nii.gz", "_lat_drr.nii.gz"})
    std::filesystem::copy_file(folder.set(std::string("sub_two/sub_two") + view),
                               folder.set(std::string("one/one") + view),
                               std::filesystem::copy_options::overwrite_existing);
  folder.pairs.align_at_least = 0.97;
  const PrepareContext swapped = folder.prepare();
  ASSERT_EQ(swapped.bad.size(), 1U);
  EXPECT_THAT(swapped.bad[0].reason, HasSubstr("a radiograph is not of its CT"));
}

TEST(PreparePairs, AGeometryGoesToItsFileAndBack) {
  const PairGeometry geometry{.views = PairConfig().views(2),
                              .intensities = {{.scale = 0.25, .offset = -1}, {.scale = 0.5, .offset = -0.75}},
                              .correlations = {0.99, 0.98},
                              .extent = 400,
                              .made_from = "tests"};
  const PairGeometry back = pair_geometry_from(to_json(geometry));
  EXPECT_EQ(to_json(back), to_json(geometry));
  EXPECT_EQ(geometry_file("set/7.nii.gz"), "set/7_geometry.json");
  Json shorter = to_json(geometry);
  shorter["intensity"].erase(0);
  EXPECT_THROW(pair_geometry_from(shorter), Error);
  EXPECT_THROW(pair_geometry_from(Json::array()), Error);
}

}  // namespace
}  // namespace larmor::xray_to_ct::testing
