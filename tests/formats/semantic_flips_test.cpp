// Every single bit of the headers of small files is flipped: the file is refused, or it is read as a second
// reader reads it, which was written from the standards (tests/formats/support/second_reader.h). No number is
// invented in place of one that cannot be understood.
#include <cmath>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/dicom/dicom.h"
#include "larmor/formats/numpy/numpy_file.h"
#include "larmor/formats/stored_volume.h"
#include "larmor/formats/volume.h"

#include "tests/formats/support/second_reader.h"
#include "tests/support/cases.h"
#include "tests/support/dicom_files.h"
#include "tests/support/image_files.h"

namespace larmor {
namespace {

using testing::DicomBytes;
using testing::NiftiBytes;
using testing::SecondOpinion;
using FirstReader = std::function<StoredVolume(const std::string&)>;
using SecondReader = std::function<std::optional<SecondOpinion>(const std::string&)>;

bool alike(double one, double other) {
  return std::abs(one - other) <= 1e-6 * std::max({1e-3, std::abs(one), std::abs(other)});
}

/// What the library reads, in the second reader's form. Throws Error.
SecondOpinion first_opinion(const StoredVolume& volume) {
  if (!volume.fault.empty()) throw Error(Exit::data, volume.fault);
  const StoredArray& array = volume.array;
  SecondOpinion opinion;
  opinion.size = {1, 1, 1};
  for (std::size_t axis = 0; axis < array.shape.size(); ++axis)
    (axis < 3 ? opinion.size[axis] : opinion.channels) *= array.shape[axis];
  std::vector<float> values(static_cast<std::size_t>(array.count()));
  decode_voxels(array.voxels(), array.format, std::span(values));
  if (count_not_finite(values) > 0) throw Error(Exit::data, "is not finite");
  const std::array<int64_t, 3> size = opinion.size;
  for (int64_t i = 0; i < array.count(); ++i) {
    const int64_t x = i % size[0], y = i / size[0] % size[1], z = i / size[0] / size[1];
    const int64_t place = array.first_axis_fastest ? i : (x * size[1] + y) * size[2] + z;
    opinion.voxels.push_back(values[static_cast<std::size_t>(place)]);
  }
  for (std::size_t i = 0; i < 16; ++i) opinion.affine[i] = volume.affine[i / 4][i % 4];
  return opinion;
}

/// Empty where both say the same.
std::string difference(const SecondOpinion& first, const SecondOpinion& second) {
  if (first.size != second.size || first.channels != second.channels) return "another size";
  for (std::size_t i = 0; i < second.voxels.size(); ++i) {
    if (!alike(first.voxels[i], second.voxels[i]))
      return text("voxel ", i, " is ", first.voxels[i], ", not ", second.voxels[i]);
  }
  for (std::size_t i = 0; i < 16; ++i) {
    if (!alike(first.affine[i], second.affine[i]))
      return text("affine ", i / 4, ' ', i % 4, " is ", first.affine[i], ", not ", second.affine[i]);
  }
  return "";
}

struct Tally {
  int flips = 0, accepted = 0;
};

/// Flips each bit of `bytes` bytes of a good file from `begin` on.
Tally flip(const std::string& good, std::size_t begin, std::size_t bytes, const FirstReader& read,
           const SecondReader& second) {
  const auto whole = second(good);
  EXPECT_TRUE(whole);
  EXPECT_EQ(difference(first_opinion(read(good)), whole.value_or(SecondOpinion())), "");
  Tally tally;
  for (std::size_t bit = 8 * begin; bit < 8 * (begin + bytes); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
    ++tally.flips;
    try {
      const SecondOpinion opinion = first_opinion(read(bad));
      ++tally.accepted;
      const auto other = second(bad);
      const std::string different = other ? difference(opinion, *other) : "the second reader refuses it";
      EXPECT_EQ(different, "") << "bit " << bit % 8 << " of byte " << bit / 8;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::data) << error.message();
    }
  }
  return tally;
}

StoredVolume first_dicom(const std::string& bytes) { return parse_dicom_volume(testing::owned(bytes)); }

StoredVolume first_npy(const std::string& bytes) {
  StoredVolume volume;
  volume.array = parse_npy(testing::owned(bytes));
  return volume;
}

DicomBytes ct_slice(const char* syntax) {
  DicomBytes file(syntax);
  file.put(0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.2")
      .put(0x00180050, "DS", "2.5")
      .put(0x00180088, "DS", "3");
  file.put(0x00281052, "DS", "-1024").put(0x00281053, "DS", "2").put_short(0x00280103, 1);
  file.put_short(0x00280101, 12).put_short(0x00280102, 11).pixels_of({0, 2047, 40, 4000, 17, 1000});
  return file.put(0x00280008, "IS", "1");
}

DicomBytes radiograph() {
  DicomBytes file;
  file.put(0x00080060, "CS", "DX").put(0x00280004, "CS", "MONOCHROME1").drop(0x00200032).drop(0x00200037);
  file.drop(0x00280030).put(0x00181164, "DS", "0.14\\0.15").put(0x00281050, "DS", "600\\40");
  file.put(0x00281051, "DS", "900\\10").put(0x00281056, "CS", "LINEAR").put_short(0x00280101, 10);
  return file.put_short(0x00280102, 9).pixels_of({0, 1023, 512, 300, 700, 1000});
}

DicomBytes colours(int by_plane) {
  DicomBytes file;
  file.put_short(0x00280002, 3).put(0x00280004, "CS", "RGB").put_short(0x00280006, by_plane);
  file.put_short(0x00280100, 8).put_short(0x00280101, 8).put_short(0x00280102, 7);
  return file.pixels_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}, 8);
}

TEST(SemanticFlips, OfDicomAreRefusedOrReadAsTheBytesSay) {
  int flips = 0;
  for (const auto& [file, pixels] : {std::pair{ct_slice(testing::explicit_little), 12},
                                     {ct_slice(testing::implicit_little), 12},
                                     {radiograph(), 12},
                                     {colours(0), 18},
                                     {colours(1), 18}}) {
    const std::string whole = file.whole();
    // The preamble says nothing.
    const auto tally = flip(whole, 128, whole.size() - 128 - static_cast<std::size_t>(pixels), first_dicom,
                            testing::second_dicom);
    flips += tally.flips;
    EXPECT_GT(tally.accepted, tally.flips / 20);
    EXPECT_LT(tally.accepted, tally.flips / 2);
  }
  EXPECT_GT(flips, 8000);
}

NiftiBytes scan(int sform, int qform, float slope) {
  NiftiBytes file;
  file.put<int16_t>(252, static_cast<int16_t>(qform)).put<int16_t>(254, static_cast<int16_t>(sform));
  file.put<float>(76, -1).put<float>(256, 0.5F).put<float>(260, -0.25F).put<float>(264, 0.125F);
  file.put<float>(268, 10).put<float>(272, -20).put<float>(276, 30).put<float>(112, slope);
  const float rows[12] = {-1.5F, 0.25F, 0, 11, 0.125F, 2, 0, 12, 0, 0, 3, 13};
  for (std::size_t i = 0; i < 12; ++i) file.put<float>(280 + 4 * i, rows[i]);
  return file.put<float>(116, slope == 0 ? 0 : -1024);
}

TEST(SemanticFlips, OfNiftiAreRefusedOrReadAsTheBytesSay) {
  const ScratchFolder scratch;
  const auto path = scratch.path() / "file.nii";
  testing::write_file(path, scan(0, 0, 0).whole());
  const FirstReader first = [&](const std::string& bytes) {
    // All have one length, so that the file need not be made anew.
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << bytes;
    return open_volume(path);
  };
  int flips = 0;
  for (const auto& file : {scan(0, 0, 0), scan(1, 0, 2), scan(0, 1, 1), scan(2, 1, 0.5F)}) {
    const auto tally =
        flip(file.whole(), 0, file.whole().size() - file.voxels.size(), first, testing::second_nifti);
    flips += tally.flips;
    EXPECT_GT(tally.accepted, tally.flips / 5);
  }
  EXPECT_GT(flips, 10000);
}

std::string npy(const std::string& type, const std::string& order, std::size_t bytes) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': (2, 3, 4), }";
  header.resize(117, ' ');
  header += '\n';
  std::string file = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header;
  for (std::size_t i = 0; i < bytes; ++i) file += static_cast<char>(i % 7 == 3 ? 63 : i);
  return file;
}

TEST(SemanticFlips, OfNumpyAreRefusedOrReadAsTheBytesSay) {
  int flips = 0;
  for (const auto& [type, order, width] : {std::tuple{"<u2", "False", 2},
                                           {"|u1", "True", 1},
                                           {"<i4", "False", 4},
                                           {">i8", "False", 8},
                                           {"<f4", "True", 4}}) {
    const auto bytes = static_cast<std::size_t>(24 * width);
    const std::string file = npy(type, order, bytes);
    flips += flip(file, 0, file.size() - bytes, first_npy, testing::second_npy).flips;
  }
  EXPECT_GT(flips, 5000);
}

}  // namespace
}  // namespace larmor
