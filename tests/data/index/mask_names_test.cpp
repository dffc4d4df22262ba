#include "larmor/data/index/mask_names.h"

#include <gtest/gtest.h>

#include "tests/support/cases.h"
#include "tests/support/dicom_files.h"

namespace larmor {
namespace {

TEST(MaskNames, AreWordsOfFilesAndFolders) {
  for (const char* path : {"t1_seg.nii.gz", "p1/lesion-mask.npy", "labelsTr/spleen_2.nii.gz", "masks/a.png",
                           "p1/Segmentation.nii", "labels/a.nii", "x/label.nii", "a_SEG_2.nii"})
    EXPECT_TRUE(is_called_like_a_mask(path)) << path;
  for (const char* path : {"t1.nii.gz", "masked/brain.nii", "seg/p1/t1.nii", "segment1.nii", "imagesTr/a.nii",
                           "labelled.nii", "unmask.nii", ""})
    EXPECT_FALSE(is_called_like_a_mask(path)) << path;
}

Index index_of(const std::vector<std::string>& labels, const std::filesystem::path& folder = "/nowhere") {
  Index index;
  index.folder = folder;
  for (const std::string& label : labels) {
    Case entry;
    entry.files["image"] = "i_" + label;
    if (!label.empty()) entry.files["label"] = label;
    index.cases.push_back(entry);
  }
  return index;
}

// In pairs of scans the label is an image, and may well be called a label.
TEST(MaskNames, TellLabelsThatAreMasksFromThoseThatAreImages) {
  EXPECT_TRUE(labels_are_masks(index_of({"a_seg.nii", "", "b_seg.nii"})));
  EXPECT_TRUE(labels_are_masks(index_of({"labelsTr/a.nii.gz"})));
  EXPECT_FALSE(labels_are_masks(index_of({"a_label.nii", "b_label.nii"})));
  EXPECT_FALSE(labels_are_masks(index_of({"labels/a.nii"})));
  EXPECT_FALSE(labels_are_masks(index_of({"a_seg.nii", "b.nii"}))) << "all of a data set are of one kind";
  EXPECT_FALSE(labels_are_masks(index_of({""})));
}

TEST(MaskNames, TellLabelsByTheClassOfDicomObjects) {
  testing::CaseFolder folder;
  folder.file("a.dcm", testing::DicomBytes().put(0x00080060, "CS", "SEG").whole());
  folder.file("b.dcm", testing::DicomBytes().whole()).file("c.dcm", "no image");
  EXPECT_TRUE(labels_are_masks(index_of({"a.dcm"}, folder.path())));
  EXPECT_FALSE(labels_are_masks(index_of({"b.dcm"}, folder.path())));
  EXPECT_FALSE(labels_are_masks(index_of({"c.dcm"}, folder.path())));
}

}  // namespace
}  // namespace larmor
