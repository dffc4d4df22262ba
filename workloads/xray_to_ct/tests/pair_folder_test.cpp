#include "workloads/xray_to_ct/data/pair_folder.h"

#include <string>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"
#include "larmor/formats/volume.h"

#include "workloads/xray_to_ct/data/chest_phantom.h"
#include "workloads/xray_to_ct/data/pair_dataset.h"

#include "tests/support/cases.h"

namespace larmor::xray_to_ct::testing {
namespace {

using ::testing::HasSubstr;

/// A NumPy file of float32, version 1 of the format.
std::string npy_bytes(const at::Tensor& array) {
  std::string shape;
  for (const int64_t size : array.sizes()) shape += text(size, ", ");
  std::string header = text("{'descr': '<f4', 'fortran_order': False, 'shape': (", shape, "), }");
  header.resize((header.size() + 10 + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  const at::Tensor whole = array.to(at::kFloat).contiguous();
  return bytes + header +
         std::string(static_cast<const char*>(whole.const_data_ptr()), static_cast<size_t>(whole.nbytes()));
}

/// A folder of pairs as others have them: no geometry file, arrays for radiographs.
class ForeignFolder {
 public:
  ForeignFolder() {
    config_.data.kind = pairs_kind;
    config_.data.folder = scratch_.path().string();
    config_.data.split = {};
    pairs_.radiograph_size = 64;
    pairs_.beam = "parallel";
  }

  /// Chest `number` under `name`; the radiographs are those of chest `seen`.
  ForeignFolder& chest(const std::string& name, int64_t number, int64_t seen,
                       const std::string& frontal = "_pa_drr", const std::string& lateral = "_lat_drr") {
    storage_.create_folders(scratch_.path() / name);
    const RadiographPair pair = compute_pair(draw_chest(chest_parts(1, seen), 400, 64), pairs_, 2, 32);
    write_nifti(storage_, scratch_.path() / name / (name + ".nii.gz"),
                draw_chest(chest_parts(1, number), 400, 64));
    const auto array = [&](const std::string& ending, int64_t view) {
      if (!ending.empty())
        write_text(storage_, scratch_.path() / name / (name + ending + ".npy"),
                   npy_bytes((pair.radiographs[view] + 1) * 127.5));
    };
    array(frontal, 0);
    array(lateral, 1);
    return *this;
  }
  std::filesystem::path file(const std::string& name) const { return scratch_.path() / name; }
  void write(const std::string& name, const at::Tensor& array) {
    write_text(storage_, scratch_.path() / name, npy_bytes(array));
  }

  Index index() const { return pair_index(config_, pairs_); }
  RadiographPair read(int64_t views = 2, int64_t number = 0) const {
    const Index found = index();
    return read_pair(found.folder, found.cases[static_cast<size_t>(number)], pairs_, views, 32);
  }
  std::string refusal(int64_t views = 2) const {
    const auto error = larmor::testing::error_of([&] { read(views); });
    if (error) {
      EXPECT_EQ(error->exit(), Exit::data);
    }
    return error ? error->message() : "";
  }

  PairConfig pairs_;
  RunConfig config_;
  DiskStorage storage_;

 private:
  ScratchFolder scratch_;
};

TEST(PairFolder, NamesSayWhichFileOfWhichCase) {
  const auto expect = [](const char* name, const std::string& id, const std::string& file) {
    EXPECT_EQ(pair_file_name(name).id, id) << name;
    EXPECT_EQ(pair_file_name(name).file, file) << name;
  };
  expect("7_pa_drr.png", "7", pair_file::frontal);
  expect("LIDC-0001_pa.nii.gz", "LIDC-0001", pair_file::frontal);
  expect("a_b_frontal.npy", "a_b", pair_file::frontal);
  expect("7_LAT_DRR.PNG", "7", pair_file::lateral);
  expect("7_lat.dcm", "7", pair_file::lateral);
  expect("7_lateral.jpg", "7", pair_file::lateral);
  expect("7.nii.gz", "7", pair_file::ct);
  expect("7.nii", "7", pair_file::ct);
  expect("7.npy", "7", pair_file::ct);
  expect("7.png", "", "");
  expect("notes.txt", "", "");
  EXPECT_LT(pair_file_name("7_pa_drr.png").rank, pair_file_name("7_pa.png").rank);
  EXPECT_LT(pair_file_name("7_pa.png").rank, pair_file_name("7_frontal.png").rank);
}

TEST(PairFolder, ForeignPairsAreAlignedFittedAndBroughtOntoTheAxes) {
  ForeignFolder folder;
  folder.chest("a", 3, 3).chest("b", 4, 4, "_pa", "_lat").chest("c", 5, 5, "_frontal", "_lateral");
  ASSERT_EQ(folder.index().cases.size(), 3U);
  EXPECT_EQ(folder.index().patients(), 3);
  for (int64_t number = 0; number < 3; ++number) {
    const RadiographPair pair = folder.read(2, number);
    EXPECT_EQ(pair.radiographs.sizes(), at::IntArrayRef({2, 64, 64}));
    EXPECT_EQ(pair.volume.voxels.sizes(), at::IntArrayRef({1, 32, 32, 32}));
    const auto correlations = alignment_of(pair, folder.pairs_);
    EXPECT_GT(correlations[0], 0.95);
    EXPECT_GT(correlations[1], 0.9);
    // The fitted brightness takes the projection to the radiograph.
    const at::Tensor projected = line_integrals(pair.volume, pair.views, folder.pairs_);
    for (size_t view = 0; view < 2; ++view) {
      const auto i = static_cast<int64_t>(view);
      const at::Tensor fitted = projected[i] * pair.intensities[view].scale + pair.intensities[view].offset;
      EXPECT_LT((fitted - pair.radiographs[i]).abs().mean().item<double>(), 0.12);
    }
  }
}

TEST(PairFolder, AnArrayWithoutAPlaceFillsTheCube) {
  ForeignFolder folder;
  folder.chest("a", 3, 3);
  std::filesystem::remove(folder.file("a/a.nii.gz"));
  folder.write("a/a.npy", draw_chest(chest_parts(1, 3), 400, 40).voxels[0]);
  const RadiographPair pair = folder.read();
  EXPECT_GT(alignment_of(pair, folder.pairs_)[0], 0.97);
  EXPECT_GT(alignment_of(pair, folder.pairs_)[1], 0.97);
}

TEST(PairFolder, RadiographsOfAnotherPatientAreRefusedWithTheirCorrelation) {
  ForeignFolder folder;
  folder.pairs_.align_at_least = 0.95;
  folder.chest("a", 3, 11);
  EXPECT_THAT(folder.refusal(), HasSubstr("radiograph is not of its CT"));
  folder.pairs_.align_at_least = 0;
  EXPECT_EQ(folder.refusal(), "");
}

TEST(PairFolder, RadiographsThatLieUpsideDownAreRefused) {
  ForeignFolder folder;
  folder.pairs_.align_at_least = 0.9;
  folder.chest("a", 3, 3);
  EXPECT_EQ(folder.refusal(), "");
  folder.pairs_.flip_vertical = true;
  EXPECT_THAT(folder.refusal(), HasSubstr("radiograph is not of its CT"));
}

TEST(PairFolder, ALateralViewIsMissedByAModelOfTwoAlone) {
  ForeignFolder folder;
  folder.chest("a", 3, 3, "_pa_drr", "");
  EXPECT_EQ(folder.refusal(1), "");
  EXPECT_THAT(folder.refusal(2), HasSubstr("has no lateral radiograph, and the model takes 2 views"));
  ForeignFolder lateral_alone;
  lateral_alone.chest("a", 3, 3, "", "_lat");
  EXPECT_THAT(lateral_alone.refusal(1), HasSubstr("has no frontal radiograph"));
}

TEST(PairFolder, ViewsOfDifferentSizeAndCasesWithoutACtAreRefused) {
  ForeignFolder folder;
  folder.chest("a", 3, 3);
  folder.write("a/a_lat_drr.npy", at::ones({48, 64}));
  EXPECT_THAT(folder.refusal(), HasSubstr("its views differ in size: the frontal one has 64 x 64 pixels, the "
                                          "lateral one 48 x 64"));
  ForeignFolder without;
  without.chest("a", 3, 3);
  std::filesystem::remove(without.file("a/a.nii.gz"));
  EXPECT_THAT(without.refusal(), HasSubstr("has radiographs and no CT"));
}

TEST(PairFolder, HasRadiographsForAPredictionAndVolumesArePassedOver) {
  const ScratchFolder scratch;
  DiskStorage storage;
  for (const char* name : {"1_pa_drr.png", "1_lat_drr.png", "1.nii.gz", "sub/2_frontal.png", "notes.txt"}) {
    storage.create_folders((scratch.path() / name).parent_path());
    write_text(storage, scratch.path() / name, "by its name");
  }
  const auto named = radiographs_in({}, scratch.path());
  ASSERT_TRUE(named);
  ASSERT_EQ(named->cases.size(), 2U);
  EXPECT_EQ(named->cases[0].name, "1");
  EXPECT_EQ(named->cases[0].files, (std::map<std::string, std::string>{{"image_pa", "1_pa_drr.png"},
                                                                       {"image_lateral", "1_lat_drr.png"}}));
  EXPECT_EQ(named->cases[1].name, "sub/2");
  EXPECT_EQ(named->account.passed_over.at("the volume of its case"), std::vector<std::string>{"1.nii.gz"});
  storage.create_folders(scratch.path() / "films");
  write_text(storage, scratch.path() / "films" / "x.png", "a film of any name");
  EXPECT_FALSE(radiographs_in({}, scratch.path() / "films"));
}

TEST(PairFolder, AFolderWithoutPairsIsAnErrorThatSaysHowTheyAreMade) {
  ForeignFolder folder;
  const auto error = larmor::testing::error_of([&] { folder.index(); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("no radiographs with CTs in"));
  EXPECT_THAT(error->hint(), HasSubstr("larmor prepare xray_to_ct data.ct=FOLDER"));
}

}  // namespace
}  // namespace larmor::xray_to_ct::testing
