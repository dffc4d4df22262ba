#include "larmor/formats/dicom/dicom_pixels.h"

#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/support/cases.h"
#include "tests/support/dicom_files.h"
#include "tests/support/image_files.h"

namespace larmor {
namespace {

using testing::DicomBytes;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr uint32_t stored = 0x00280101, high = 0x00280102, is_signed = 0x00280103, allocated = 0x00280100;
constexpr uint32_t photometric = 0x00280004, samples = 0x00280002, planar = 0x00280006, columns = 0x00280011;

DicomFile parsed(const DicomBytes& file) {
  const std::string text = file.whole();
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return parse_dicom(std::move(bytes));
}

std::vector<float> values_of(const DicomBytes& file) {
  const DicomFile read = parsed(file);
  EXPECT_EQ(fault_of(read.header), "");
  const Bytes plain = plain_pixels(read);
  std::vector<float> values(plain.size() / bytes_of(voxel_type_of(read.header)));
  rescale(plain.view(), read.header, read.header.plane, values);
  return values;
}

std::vector<float> developed(const DicomBytes& file) {
  const DicomFile read = parsed(file);
  std::vector<float> values(static_cast<std::size_t>(read.header.rows * read.header.columns));
  develop(plain_pixels(read).view(), read.header, read.header.plane, values);
  return values;
}

TEST(PlainPixels, AreTheSameInEveryEncoding) {
  for (const char* syntax :
       {testing::explicit_little, testing::implicit_little, testing::explicit_big, testing::deflated_little})
    EXPECT_THAT(values_of(DicomBytes(syntax)), ElementsAre(0, 1, 2, 3, 4, 5)) << syntax;
}

TEST(PlainPixels, LeaveOutTheBitsThatAreNotStored) {
  DicomBytes low;
  low.put_short(stored, 12).put_short(high, 11).pixels_of({0xf001, 0x0002, 0x1fff, 0, 0, 0x8000});
  EXPECT_THAT(values_of(low), ElementsAre(1, 2, 4095, 0, 0, 0));
  DicomBytes shifted;
  shifted.put_short(stored, 12).put_short(high, 15).pixels_of({0x0010, 0x0020, 0xfff0, 0, 0, 0});
  EXPECT_THAT(values_of(shifted), ElementsAre(1, 2, 4095, 0, 0, 0));
}

// One bit of HighBit shifts all values by four; what it pushes out says so.
TEST(PlainPixels, RefuseValuesBelowTheLowestStoredBit) {
  DicomBytes shifted;
  shifted.put_short(stored, 12).put_short(high, 15).pixels_of({0x0010, 0x0020, 0xfff0, 0x000f, 0, 0});
  const auto error = testing::error_of([&] { values_of(shifted); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), ::testing::HasSubstr("below the lowest bit"));
}

TEST(PlainPixels, TakeTheHighestStoredBitForTheSign) {
  DicomBytes twelve;
  twelve.put_short(stored, 12).put_short(high, 11).put_short(is_signed, 1);
  EXPECT_THAT(values_of(twelve.pixels_of({0x0fff, 0x0800, 0x07ff, 0x0fffe, 0, 1})),
              ElementsAre(-1, -2048, 2047, -2, 0, 1));
  DicomBytes sixteen;
  EXPECT_THAT(values_of(sixteen.put_short(is_signed, 1).pixels_of({0xffff, 0x8000, 1, 2, 3, 4})),
              ElementsAre(-1, -32768, 1, 2, 3, 4));
  DicomBytes eight;
  eight.put_short(allocated, 8).put_short(stored, 8).put_short(high, 7).pixels_of({255, 1, 2, 3, 4, 5}, 8);
  EXPECT_THAT(values_of(eight), ElementsAre(255, 1, 2, 3, 4, 5));
  EXPECT_THAT(values_of(eight.put_short(is_signed, 1)), ElementsAre(-1, 1, 2, 3, 4, 5));
}

TEST(PlainPixels, UnpackSingleBits) {
  DicomBytes mask;
  mask.put_short(allocated, 1).put_short(stored, 1).put_short(high, 0).pixels_of({0b101101}, 8);
  EXPECT_THAT(values_of(mask), ElementsAre(1, 0, 1, 1, 0, 1));
}

TEST(PlainPixels, AreRescaledInDoublePrecision) {
  DicomBytes file;
  file.put(0x00281053, "DS", "0.1").put(0x00281052, "DS", "-1024");
  const auto values = values_of(file);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(values[static_cast<std::size_t>(i)], static_cast<float>(i * 0.1 - 1024));
}

TEST(PlainPixels, GiveColoursByPixelAndByPlaneAlike) {
  DicomBytes file;
  file.put_short(allocated, 8)
      .put_short(stored, 8)
      .put_short(high, 7)
      .put_short(samples, 3)
      .put_short(columns, 1);
  file.put(photometric, "CS", "RGB").put_short(planar, 0).pixels_of({1, 2, 3, 4, 5, 6}, 8);
  EXPECT_THAT(values_of(file), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(values_of(file.put_short(planar, 1).pixels_of({1, 4, 2, 5, 3, 6}, 8)),
              ElementsAre(1, 4, 2, 5, 3, 6));
  file.put(photometric, "CS", "YBR_FULL").put_short(planar, 0).pixels_of({76, 85, 255, 150, 44, 21}, 8);
  EXPECT_THAT(values_of(file), ElementsAre(254, 0, 0, 255, 0, 1)) << "pure red and pure green";
}

TEST(PlainPixels, AreRefusedWhenTheyAreNotAllThere) {
  DicomBytes file;
  const auto error = error_of([&] { values_of(file.pixels_of({1, 2, 3, 4, 5})); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("claims 12 bytes of pixels, but there are 10"));
}

TEST(PlainPixels, AreRefusedWhenFewBytesClaimMany) {
  DicomBytes file(testing::rle_lossless);
  file.put_short(0x00280010, 60000).put_short(columns, 6000).fragments_of({std::string(64, '\1')});
  const auto error = error_of([&] { values_of(file); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("cut short"));
}

TEST(Developing, PutsTheWindowOverTheRangeOfTheStoredBits) {
  DicomBytes file;
  file.put_short(stored, 8).put_short(high, 7).pixels_of({0, 50, 100, 150, 200, 255});
  file.put(0x00281050, "DS", "100.5").put(0x00281051, "DS", "101");
  EXPECT_THAT(developed(file), Pointwise(FloatNear(1e-4F), {0.0F, 0.0F, 127.5F, 255.0F, 255.0F, 255.0F}));
  file.put(0x00281056, "CS", "LINEAR_EXACT").put(0x00281050, "DS", "100").put(0x00281051, "DS", "200");
  EXPECT_THAT(developed(file), Pointwise(FloatNear(1e-4F), {0.0F, 63.75F, 127.5F, 191.25F, 255.0F, 255.0F}));
  file.put(0x00281056, "CS", "SIGMOID");
  EXPECT_THAT(developed(file)[2], FloatNear(127.5F, 1e-4F));
  EXPECT_THAT(developed(file)[1], FloatNear(255.0F / (1 + std::exp(1.0F)), 1e-3F));
}

TEST(Developing, TurnsPicturesRoundWhoseLowValuesAreWhite) {
  DicomBytes file;
  file.put_short(stored, 12).put_short(high, 11).put(photometric, "CS", "MONOCHROME1");
  EXPECT_THAT(developed(file), ElementsAre(4095, 4094, 4093, 4092, 4091, 4090));
}

/// A radiograph of six pixels of 8 bits, 10 to 15, with a VOI lookup table.
DicomBytes with_table(const std::string& syntax, const std::vector<int>& form,
                      const std::vector<int>& entries, int bytes_of_entry = 2) {
  DicomBytes file(syntax);
  const bool is_big = syntax == testing::explicit_big;
  const auto words = [&](const std::vector<int>& values, int bytes) {
    std::string all;
    for (const int value : values) {
      const char low = static_cast<char>(value & 255), high_byte = static_cast<char>(value >> 8 & 255);
      if (bytes == 1) all += low;
      if (bytes == 2) all += is_big ? std::string{high_byte, low} : std::string{low, high_byte};
    }
    return all;
  };
  const std::string table = file.element(0x00283002, "US", words(form, 2)) +
                            file.element(0x00283006, "OW", words(entries, bytes_of_entry));
  file.put_short(stored, 8).put_short(high, 7).pixels_of({10, 11, 12, 13, 14, 15});
  file.put(0x00283010, "SQ", file.item(table) + file.item(file.element(0x00283002, "US", "unread")));
  return file;
}

TEST(Developing, LooksValuesUpWhereThereIsATableAndNoWindow) {
  for (const char* syntax : {testing::explicit_little, testing::implicit_little, testing::explicit_big}) {
    // Entries of 10 bits for 11, 12, 13: before and behind, its ends. 1023 becomes 255.
    DicomBytes file = with_table(syntax, {3, 11, 10}, {0, 1023, 341});
    EXPECT_THAT(developed(file), Pointwise(FloatNear(1e-4F), {0.0F, 0.0F, 255.0F, 85.0F, 85.0F, 85.0F}))
        << syntax;
    file.put(photometric, "CS", "MONOCHROME1");
    EXPECT_THAT(developed(file)[2], FloatNear(0, 1e-4F));
    file.put(photometric, "CS", "MONOCHROME2").put(0x00281050, "DS", "12.5").put(0x00281051, "DS", "3");
    EXPECT_THAT(developed(file)[2], FloatNear(127.5F, 1e-4F)) << "a window comes first";
  }
}

TEST(Developing, TakesEntriesOfOneByteAndLeavesTablesThatDoNotFit) {
  const auto bytes = with_table(testing::explicit_little, {6, 10, 8}, {9, 8, 7, 6, 5, 4}, 1);
  EXPECT_THAT(developed(bytes), Pointwise(FloatNear(1e-4F), {9.0F, 8.0F, 7.0F, 6.0F, 5.0F, 4.0F}));
  for (const std::vector<int>& form :
       {std::vector<int>{7, 10, 12}, {6, 10, 7}, {6, 10, 17}, {0, 10, 12}, {6, 10}}) {
    const auto file = with_table(testing::explicit_little, form, {9, 8, 7, 6, 5, 4});
    EXPECT_THAT(developed(file), ElementsAre(10, 11, 12, 13, 14, 15)) << form.size();
  }
}

}  // namespace
}  // namespace larmor
