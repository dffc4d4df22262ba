// Compressed pixels that are cut short: refused, or, cut behind what counts, the very same voxels.
#include "tests/support/cut_pixels.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <malloc.h>

#include "larmor/base/seed.h"

#include "tests/support/dicom_files.h"
#include "tests/support/encoded_pixels.h"
#include "tests/support/image_files.h"
#include "tests/support/picture_files.h"

namespace larmor {
namespace {

using testing::CompressedFile;
using testing::DicomBytes;
using testing::voxels_of;

/// Length of the padding that may be lost of the end of a piece.
constexpr std::size_t padding = 1;

struct CutTally {
  int cuts = 0, refused = 0;
};

/// Each file is read twice, under two fillings of fresh memory.
std::optional<std::string> voxels_under_fillings(const std::string& file) {
  mallopt(M_PERTURB, 0x5a);
  const auto first = voxels_of(file);
  mallopt(M_PERTURB, 0xc3);
  const auto second = voxels_of(file);
  mallopt(M_PERTURB, 0);
  EXPECT_TRUE(first == second) << "voxels depend on what memory was filled with";
  return first;
}

void try_cut(const CompressedFile& file, const std::string& expected, std::size_t kept, CutTally& tally) {
  std::vector<std::string> cut = {file.with_last_piece(kept, "")};
  if (file.is_jpeg() && kept > 2) cut.push_back(file.with_last_piece(kept, "\xff\xd9"));
  for (const std::string& bytes : cut) {
    const auto voxels = voxels_under_fillings(bytes);
    ++tally.cuts;
    if (!voxels) {
      ++tally.refused;
    } else {
      EXPECT_TRUE(*voxels == expected)
          << "other voxels of " << kept << " of " << file.last_piece() << " bytes"
          << (&bytes == &cut.front() ? "" : " and a marker of the end");
    }
  }
}

std::vector<int> gradient(int count, int step) {
  std::vector<int> values;
  for (int i = 0; i < count; ++i) values.push_back(i * step % 4096 + i % 7);
  return values;
}

std::vector<CompressedFile> small_files() {
  std::vector<CompressedFile> files;
  for (const char* syntax : {"1.2.840.10008.1.2.4.70", "1.2.840.10008.1.2.4.80", testing::rle_lossless}) {
    DicomBytes file(syntax);
    file.put_short(0x00280010, 9)
        .put_short(0x00280011, 7)
        .put_short(0x00280101, 13)
        .put_short(0x00280102, 12);
    const std::string frame = testing::encoded_frame(syntax, 9, 7, 13, gradient(63, 117));
    files.emplace_back(file.fragments_of({frame}).whole());
    file.put(0x00280008, "IS", "2").drop(0x00200032);
    files.emplace_back(file.fragments_of({frame, frame}).whole());
  }
  for (const bool progressive : {false, true}) {
    for (const int channels : {1, 3}) {
      DicomBytes file(progressive ? "1.2.840.10008.1.2.4.55" : testing::jpeg_baseline);
      file.put_short(0x00280002, channels).put_short(0x00280010, 18).put_short(0x00280011, 20);
      file.put_short(0x00280100, 8).put_short(0x00280101, 8).put_short(0x00280102, 7);
      if (channels == 3) file.put_short(0x00280006, 0).put(0x00280004, "CS", "YBR_FULL");
      files.emplace_back(file.fragments_of({testing::jpeg_of(20, 18, channels, 90, progressive)}).whole());
    }
  }
  return files;
}

TEST(CutPixels, OfSmallFilesAreRefusedAtEveryByte) {
  for (const CompressedFile& file : small_files()) {
    SCOPED_TRACE(file.transfer_syntax());
    const auto expected = voxels_under_fillings(file.whole());
    ASSERT_TRUE(expected);
    CutTally tally;
    for (std::size_t kept = 0; kept < file.last_piece(); ++kept) try_cut(file, *expected, kept, tally);
    // Only the byte of padding, and before a marker of the end that is put there anew the one that was there,
    // count for nothing.
    EXPECT_GE(tally.refused, tally.cuts - 3 - static_cast<int>(padding));
    for (std::size_t length = file.pixels_begin(); length < file.whole().size(); ++length) {
      const auto voxels = voxels_of(file.whole().substr(0, length));
      EXPECT_TRUE(!voxels || *voxels == *expected) << "cut at byte " << length;
    }
  }
}

std::vector<std::filesystem::path> compressed_seeds() {
  const char* const names[] = {"one_image_nine_encodings/4_rle.dcm",
                               "one_image_nine_encodings/5_jpeg_lossless_sv1_dcmtk.dcm",
                               "one_image_nine_encodings/6_jpeg_lossless_sv1_gdcm.dcm",
                               "one_image_nine_encodings/7_jpegls_gdcm.dcm",
                               "one_image_nine_encodings/8_jpegls_dcmtk.dcm",
                               "pydicom_single/JPEG-LL.dcm",
                               "pydicom_single/emri_small_RLE.dcm",
                               "pydicom_single/emri_small_jpeg_ls_lossless.dcm"};
  std::vector<std::filesystem::path> paths;
  for (const char* name : names) paths.push_back(testing::shared_data() / "dicom" / name);
  return paths;
}

TEST(CutPixels, NeverShowWhatMemoryHeldBefore) {
  DicomBytes file(testing::rle_lossless);
  file.put_short(0x00280010, 64).put_short(0x00280011, 64).put_short(0x00280100, 8);
  file.put_short(0x00280101, 8).put_short(0x00280102, 7);
  std::string table = testing::published(int32_t{1}) + testing::published(int32_t{64});
  table.resize(64, '\0');
  // A run whose bytes are not there, and a picture of which the second half is not there.
  std::string half;
  for (int i = 0; i < 16; ++i) half += "\x81\x07";
  for (const std::string& segment : {std::string("\x7f"), half})
    EXPECT_FALSE(voxels_under_fillings(file.fragments_of({table + segment}).whole()));
}

TEST(CutPixels, OfRealFilesAreRefusedToo) {
  if (testing::shared_data().empty()) GTEST_SKIP() << "the folder of real images is not on this machine";
  Draws draws(make_key(23, 0, 0, "cuts"));
  for (const auto& path : compressed_seeds()) {
    SCOPED_TRACE(path.string());
    const CompressedFile file(testing::read_whole(path));
    const auto expected = voxels_under_fillings(file.whole());
    ASSERT_TRUE(expected);
    CutTally tally;
    for (std::size_t missing = 1; missing <= 12; ++missing)
      try_cut(file, *expected, file.last_piece() - missing, tally);
    for (int i = 0; i < 6; ++i) try_cut(file, *expected, draws.below(file.last_piece() - 12), tally);
    EXPECT_GE(tally.refused, tally.cuts - 6) << "of " << tally.cuts;
  }
}

}  // namespace
}  // namespace larmor
