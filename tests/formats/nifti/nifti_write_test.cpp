#include <cmath>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/formats/nifti/nifti.h"
#include "larmor/formats/volume.h"

#include "tests/support/image_files.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::NiftiBytes;

class NiftiWriting : public ::testing::Test {
 protected:
  Volume read_back(const std::string& name, const Volume& volume, const std::filesystem::path& like = {},
                   HeaderText header_text = HeaderText::left_out) {
    write_nifti(storage_, scratch_.path() / name, volume, like, header_text);
    return read_volume(scratch_.path() / name);
  }
  NiftiHeader header(const std::string& name) { return read_nifti(scratch_.path() / name).header; }

  ScratchFolder scratch_;
  DiskStorage storage_;
};

Affine oblique() {
  const double c = std::cos(0.3), s = std::sin(0.3);
  return {{{-0.9 * c, 1.1 * s, 0, 12.5}, {0.9 * s, 1.1 * c, 0, -30.25}, {0, 0, 3, 7}, {0, 0, 0, 1}}};
}

TEST_F(NiftiWriting, IsReadBackBitForBit) {
  for (const std::string name : {"a.nii", "a.nii.gz"}) {
    for (const int64_t channels : {1, 3}) {
      const Volume volume{at::arange(channels * 60, at::kFloat).view({channels, 3, 4, 5}) * 0.1, oblique()};
      const Volume back = read_back(name, volume);
      EXPECT_TRUE(back.voxels.equal(volume.voxels));
      const std::vector<int64_t> single{3, 4, 5}, several{3, 4, 5, 3};
      EXPECT_EQ(header(name).shape, channels == 1 ? single : several);
      for (int row = 0; row < 3; ++row) {
        for (int column = 0; column < 4; ++column)
          EXPECT_NEAR(back.affine[row][column], oblique()[row][column], 1e-6);
      }
      EXPECT_THAT(header(name).problems, IsEmpty()) << "sform, qform and spacing say the same";
      EXPECT_GT(header(name).qform_code, 0);
      EXPECT_GT(header(name).sform_code, 0);
    }
  }
}

TEST_F(NiftiWriting, StoresLabelMapsInTheSmallestTypeThatHoldsThem) {
  const auto stored = [&](int64_t largest, at::ScalarType type, int64_t least = 0) {
    const at::Tensor classes =
        at::arange(24).remainder(3).mul(largest / 2).add(least).view({1, 2, 3, 4}).to(type);
    const Volume back = read_back("a.nii.gz", {classes, oblique()});
    EXPECT_TRUE(back.voxels.equal(classes.to(at::kFloat)));
    EXPECT_NEAR(back.affine[0][3], 12.5, 1e-6);
    return inspect_file(scratch_.path() / "a.nii.gz").dtype;
  };
  EXPECT_EQ(stored(2, at::kByte), "uint8");
  EXPECT_EQ(stored(254, at::kLong), "uint8");
  EXPECT_EQ(stored(1000, at::kInt), "uint16");
  EXPECT_EQ(stored(65534, at::kLong), "uint16");
  EXPECT_EQ(stored(70000, at::kLong), "int32");
  EXPECT_EQ(stored(4, at::kLong, /*least=*/-1), "int32");
}

TEST_F(NiftiWriting, TakesVoxelsInAnyStrides) {
  const Volume volume{at::arange(60, at::kFloat).view({1, 5, 4, 3}).permute({0, 3, 2, 1}), identity_affine()};
  EXPECT_TRUE(read_back("a.nii", volume).voxels.equal(volume.voxels));
}

TEST_F(NiftiWriting, GivesEqualBytesForEqualVolumes) {
  const Volume volume{at::rand({1, 6, 5, 4}), oblique()};
  read_back("a.nii.gz", volume);
  read_back("b.nii.gz", volume);
  EXPECT_EQ(testing::read_whole(scratch_.path() / "a.nii.gz"),
            testing::read_whole(scratch_.path() / "b.nii.gz"));
}

TEST_F(NiftiWriting, LeavesTheQuaternionOutWhenThereIsShear) {
  Affine sheared = identity_affine();
  sheared[0][1] = 0.5;
  const Volume back = read_back("a.nii", {at::zeros({1, 2, 2, 2}), sheared});
  EXPECT_EQ(back.affine, sheared);
  EXPECT_EQ(header("a.nii").qform_code, 0);
}

TEST_F(NiftiWriting, UsesVersionTwoForAxesThatVersionOneCannotHold) {
  const Volume volume{at::arange(40000, at::kFloat).view({1, 40000, 1, 1}), identity_affine()};
  EXPECT_TRUE(read_back("long.nii.gz", volume).voxels.equal(volume.voxels));
  EXPECT_EQ(header("long.nii.gz").version, 2);
}

TEST_F(NiftiWriting, KeepsUnitsAndCodesOfAFileLikeItAndItsFreeTextWhereThatIsAskedFor) {
  for (const int version : {1, 2}) {
    for (const bool big_endian : {false, true}) {
      NiftiBytes like(version, big_endian);
      if (version == 1) {
        like.put(252, int16_t{1})
            .put(254, int16_t{4})
            .put(123, uint8_t{10})
            .put(280, 1.0F)
            .put(300, 1.0F)
            .put(320, 1.0F);
        like.header.replace(148, 5, "a tag");
        like.header.replace(228, 6, "a file");
        like.header.replace(328, 6, "an aim");
      } else {
        like.put(344, int32_t{1})
            .put(348, int32_t{4})
            .put(500, int32_t{10})
            .put(400, 1.0)
            .put(440, 1.0)
            .put(480, 1.0);
        like.header.replace(240, 5, "a tag");
        like.header.replace(320, 6, "a file");
        like.header.replace(508, 6, "an aim");
      }
      testing::write_file(scratch_.path() / "like.nii", like.whole());
      for (const auto text : {HeaderText::left_out, HeaderText::kept}) {
        read_back("a.nii", {at::zeros({1, 2, 3, 4}), oblique()}, scratch_.path() / "like.nii", text);
        const NiftiHeader written = header("a.nii");
        EXPECT_EQ(written.qform_code, 1);
        EXPECT_EQ(written.sform_code, 4);
        EXPECT_EQ(written.raw[123], 10);
        const std::string kept = text == HeaderText::kept ? "a tag" : "";
        EXPECT_EQ(written.raw.substr(148, 80).c_str(), kept);  // up to the first zero
        EXPECT_EQ(written.raw.find("an aim") != std::string::npos, text == HeaderText::kept);
        EXPECT_EQ(written.raw.find("a file") != std::string::npos, text == HeaderText::kept);
      }
    }
  }
}

TEST_F(NiftiWriting, KeepsTheFormsOfAFileLikeItWhereTheyStillHold) {
  const auto forms = [](const NiftiHeader& header) {
    return header.raw.substr(76, 20) + header.raw.substr(252, 76);
  };
  for (const bool has_qform : {false, true}) {
    for (const bool has_sform : {false, true}) {
      if (!has_qform && !has_sform) continue;
      NiftiBytes like;
      if (has_qform)
        like.put(252, int16_t{1})
            .put(256, 0.1F)
            .put(260, 0.2F)
            .put(264, 0.3F)
            .put(268, -80.3F)
            .put(76, -1.0F);
      if (has_sform)
        like.put(254, int16_t{2}).put(280, 1.3F).put(284, 0.1F).put(300, 2.1F).put(320, 3.3F).put(292, 7.7F);
      testing::write_file(scratch_.path() / "like.nii", like.whole());
      const auto volume = read_volume(scratch_.path() / "like.nii");
      EXPECT_EQ(read_back("a.nii", volume, scratch_.path() / "like.nii").affine, volume.affine);
      auto expected = like.header.substr(76, 20) + like.header.substr(252, 76);
      if (!has_qform) expected.replace(0, 4, testing::published(1.0F));  // a handedness of 0 means 1
      EXPECT_EQ(forms(header("a.nii")), expected) << has_qform << has_sform;
    }
  }
}

TEST_F(NiftiWriting, KeepsTheAxesOfOneOfAFileLikeIt) {
  NiftiBytes like;
  like.put(40, int16_t{5}).put(48, int16_t{1}).put(50, int16_t{1});
  testing::write_file(scratch_.path() / "like.nii", like.whole());
  const auto volume = read_volume(scratch_.path() / "like.nii");
  EXPECT_TRUE(read_back("a.nii", volume, scratch_.path() / "like.nii").voxels.equal(volume.voxels));
  EXPECT_THAT(header("a.nii").shape, ElementsAre(2, 3, 4, 1, 1));
  read_back("b.nii", {at::zeros({1, 2, 3, 5}), volume.affine}, scratch_.path() / "like.nii");
  EXPECT_THAT(header("b.nii").shape, ElementsAre(2, 3, 5)) << "another shape has its own axes";
}

TEST_F(NiftiWriting, LeavesTheOldFileWhenItFails) {
  const Volume volume{at::ones({1, 2, 2, 2}), identity_affine()};
  read_back("a.nii", volume);
  const std::string before = testing::read_whole(scratch_.path() / "a.nii");
  for (const std::string step : {"create", "write", "sync", "rename"}) {
    FaultyStorage storage([&](const FaultyStorage::Operation& operation) {
      if (operation.name == step) fail(Exit::environment, "no space left");
    });
    EXPECT_THROW(write_nifti(storage, scratch_.path() / "a.nii", {volume.voxels * 2, volume.affine}), Error)
        << step;
    EXPECT_EQ(testing::read_whole(scratch_.path() / "a.nii"), before) << step;
  }
}

TEST_F(NiftiWriting, RefusesOtherNames) {
  EXPECT_THROW(write_nifti(storage_, scratch_.path() / "a.png", {at::zeros({1, 2, 2, 2}), identity_affine()}),
               Error);
}

}  // namespace
}  // namespace larmor
