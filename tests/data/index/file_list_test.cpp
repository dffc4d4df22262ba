#include "larmor/data/index/file_list.h"

#include <filesystem>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/support/cases.h"
#include "tests/support/dicom_files.h"
#include "tests/support/image_files.h"
#include "tests/support/shared_data.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;
using testing::CaseFolder;
using testing::error_of;

/// Whatever lies below a folder and is no folder itself; links are not followed.
std::set<std::string> all_below(const fs::path& folder) {
  std::set<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_symlink() || !entry.is_directory())
      found.insert(entry.path().lexically_relative(folder).generic_string());
  return found;
}

/// The rows' paths; each may have one row alone.
std::set<std::string> accounted(const Index& index) {
  std::set<std::string> paths;
  for (const Json& row : list_of_files(index))
    EXPECT_TRUE(paths.insert(row.at("path").get<std::string>()).second) << row.dump();
  return paths;
}

/// A tree of folders and files with names that mean something, by chance.
void fill_at_random(CaseFolder& folder, std::mt19937& random) {
  const std::vector<std::string> folders = {"p1",
                                            "p2",
                                            "train",
                                            "val",
                                            "imagesTr",
                                            "labelsTr",
                                            ".git",
                                            "derivatives",
                                            "sub-01",
                                            "sub-02",
                                            "BraTS-GLI-00001-000",
                                            "a b",
                                            "p10",
                                            "s1"};
  const std::vector<std::string> names = {"t1",   "t1_seg", "BraTS-GLI-00002-001-t1n", "x_0000", ".hidden",
                                          "scan", "mask"};
  const std::vector<std::string> endings = {".nii",  ".nii.gz", ".hdr", ".img", ".npz", ".png",
                                            ".json", "",        ".txt", ".dcm", ".mhd", ".nrrd"};
  const auto any = [&](const std::vector<std::string>& of) { return of[random() % of.size()]; };
  for (int i = 0; i < 40; ++i) {
    std::string path;
    for (std::size_t depth = random() % 4; depth > 0; --depth) path += any(folders) + "/";
    path += any(names) + any(endings);
    if (!fs::exists(folder.path() / path)) folder.file(path, "");
  }
  fs::create_directory_symlink(folder.path(), folder.path() / "round");
  fs::create_symlink(folder.path() / "nowhere.nii", folder.path() / "dangling.nii");
}

TEST(FileList, HasEveryFileOfATreeInOneRow) {
  int indexed = 0;
  for (unsigned seed = 0; seed < 30; ++seed) {
    CaseFolder folder;
    std::mt19937 random(seed);
    fill_at_random(folder, random);
    for (const char* const kind : {"nifti", "npz", "picture", "dicom", "metaimage", "nrrd"}) {
      for (const char* const layout : {"auto", "none", "bids", "decathlon", "brats"}) {
        DataConfig data;
        data.kind = kind;
        data.layout = layout;
        data.folder = folder.path().string();
        data.exclude = {"*mask*"};
        Index index;
        // Layouts that do not fit are refused, which others of this folder's tests hold to.
        if (error_of([&] { index = make_index(without_splits(data), 1); })) continue;
        EXPECT_EQ(accounted(index), all_below(folder.path())) << kind << ' ' << layout << ' ' << seed;
        ++indexed;
      }
    }
  }
  EXPECT_GT(indexed, 60);
}

TEST(FileList, HasTheVoxelsThatAHeaderNamesInItsCase) {
  CaseFolder folder;
  for (const char* const patient : {"p1", "p2", "p3"}) {
    folder.file(text(patient, "/ct.mhd"), testing::metaimage_file(false, "", "voxels.raw"));
    folder.file(text(patient, "/voxels.raw"), std::string(48, patient[1]));
    folder.file(text(patient, "/notes.raw"), "of nobody");
  }
  DataConfig data;
  data.kind = "metaimage";
  data.folder = folder.path().string();
  const Index index = make_index(data, 1);
  EXPECT_EQ(accounted(index), all_below(folder.path()));
  EXPECT_EQ(index.cases.size(), 3U);
  EXPECT_EQ(index.account->parts.size(), 3U);
  EXPECT_EQ(index.account->files_passed_over(), 3);
  EXPECT_GT(index.cases.front().bytes, 48U);
}

TEST(FileList, HasTheSlicesOfASeriesAndWhatIsNoDicom) {
  CaseFolder folder;
  for (const char* const patient : {"p1", "p2", "p3"}) {
    for (int slice = 0; slice < 3; ++slice) {
      testing::DicomBytes file;
      file.place(0, 0, slice).put(0x0020000E, "UI", text("1.2.", patient + 1));
      folder.file(text(patient, "/ct/", slice, ".dcm"), file.whole());
    }
    folder.file(text(patient, "/ct/notes.xml"), "<a/>");
  }
  DataConfig data;
  data.kind = "dicom";
  data.folder = folder.path().string();
  const Index index = make_index(data, 1);
  EXPECT_EQ(accounted(index), all_below(folder.path()));
  EXPECT_EQ(index.account->parts.size(), 9U);
  EXPECT_EQ(index.account->files_passed_over(), 3);
}

TEST(FileList, HasEveryFileOfTheRealImages) {
  const fs::path root = testing::shared_data();
  if (root.empty()) GTEST_SKIP() << "the folder of real images is not on this machine";
  std::vector<fs::path> roots = {root};
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.is_directory()) roots.push_back(entry.path());
  std::size_t files = 0;
  int indexed = 0;
  for (const fs::path& folder : roots) {
    for (const char* const kind : {"nifti", "npz", "picture", "dicom"}) {
      DataConfig data;
      data.kind = kind;
      data.folder = folder.string();
      Index index;
      if (error_of([&] { index = make_index(without_splits(data), 1); })) continue;
      EXPECT_EQ(accounted(index), all_below(folder)) << folder << ' ' << kind;
      files += accounted(index).size();
      ++indexed;
    }
  }
  EXPECT_GT(indexed, 10);
  RecordProperty("indexes", indexed);
  RecordProperty("rows", static_cast<int>(files));
}

TEST(FileList, ListsPathCasePatientAndSplitOrTheReason) {
  CaseFolder folder;
  folder.volume("p1/t1.nii").volume("p1/notes.nii").file(".x", "");
  DataConfig data;
  data.folder = folder.path().string();
  data.exclude = {"notes*"};
  const Index index = make_index(data, 1);
  EXPECT_EQ(lines_of_files(list_of_files(index)).shown(),
            ".x,,,,hidden: a name that begins with a dot\n"
            "p1/notes.nii,,,,left out by data.exclude\n"
            "p1/t1.nii,p1/t1.nii,p1,train\n");
}

}  // namespace
}  // namespace larmor
