#include "larmor/formats/pictures/png.h"

#include <numeric>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/support/cases.h"
#include "tests/support/image_files.h"
#include "tests/support/picture_files.h"

namespace larmor {
namespace {

using testing::as_bytes;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::png_of;
using testing::PngKind;

std::vector<uint16_t> counted(int count, int factor = 1) {
  std::vector<uint16_t> numbers(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = static_cast<uint16_t>(factor * i);
  return numbers;
}

std::vector<float> png_values(const StoredArray& array) {
  std::vector<float> values(static_cast<std::size_t>(array.count()));
  decode_voxels(array.voxels(), array.format, std::span(values));
  return values;
}

TEST(ParsePng, GivesGreyPixelsWithTheColumnsFirst) {
  const StoredArray array = parse_png(as_bytes(png_of(3, 2, PngKind::grey, 8, counted(6))));
  EXPECT_THAT(array.shape, ElementsAre(3, 2));
  EXPECT_TRUE(array.first_axis_fastest);
  EXPECT_EQ(array.format.type, VoxelType::uint8);
  EXPECT_THAT(png_values(array), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(ParsePng, KeepsSixteenBits) {
  const StoredArray array = parse_png(as_bytes(png_of(3, 2, PngKind::grey, 16, counted(6, 13000))));
  EXPECT_EQ(array.format.type, VoxelType::uint16);
  EXPECT_THAT(png_values(array), ElementsAre(0, 13000, 26000, 39000, 52000, 65000));
}

TEST(ParsePng, SpreadsFewerBitsOverTheWholeRange) {
  EXPECT_THAT(png_values(parse_png(as_bytes(png_of(3, 1, PngKind::grey, 1, {1, 0, 1})))),
              ElementsAre(255, 0, 255));
  EXPECT_THAT(png_values(parse_png(as_bytes(png_of(4, 1, PngKind::grey, 2, {0, 1, 2, 3})))),
              ElementsAre(0, 85, 170, 255));
}

TEST(ParsePng, GivesColoursAsThreePlanes) {
  const StoredArray array = parse_png(as_bytes(png_of(2, 1, PngKind::rgb, 8, {10, 20, 30, 11, 21, 31})));
  EXPECT_THAT(array.shape, ElementsAre(2, 1, 1, 3));
  EXPECT_THAT(png_values(array), ElementsAre(10, 11, 20, 21, 30, 31));
  EXPECT_THAT(png_values(parse_png(as_bytes(png_of(1, 1, PngKind::rgb, 16, {10000, 20000, 30000})))),
              ElementsAre(10000, 20000, 30000));
}

TEST(ParsePng, DropsAlpha) {
  EXPECT_THAT(png_values(parse_png(as_bytes(png_of(2, 1, PngKind::grey_alpha, 8, {7, 255, 9, 0})))),
              ElementsAre(7, 9));
  EXPECT_THAT(png_values(parse_png(as_bytes(png_of(1, 1, PngKind::grey_alpha, 16, {7000, 1})))),
              ElementsAre(7000));
  EXPECT_THAT(png_values(parse_png(as_bytes(png_of(1, 1, PngKind::rgb_alpha, 8, {1, 2, 3, 4})))),
              ElementsAre(1, 2, 3));
  EXPECT_THAT(png_values(parse_png(as_bytes(png_of(1, 1, PngKind::rgb_alpha, 16, {1000, 2000, 3000, 4})))),
              ElementsAre(1000, 2000, 3000));
}

TEST(ParsePng, LooksPalettesUp) {
  const StoredArray array = parse_png(as_bytes(png_of(3, 1, PngKind::palette, 4, {1, 2, 15})));
  EXPECT_THAT(array.shape, ElementsAre(3, 1, 1, 3));
  EXPECT_THAT(png_values(array), ElementsAre(1, 2, 15, 2, 4, 30, 3, 6, 45));
}

TEST(ParsePng, PutsInterlacedPixelsInOrder) {
  const auto pixels = counted(63, 4);
  EXPECT_EQ(png_values(parse_png(as_bytes(png_of(9, 7, PngKind::grey, 8, pixels, true)))),
            png_values(parse_png(as_bytes(png_of(9, 7, PngKind::grey, 8, pixels)))));
}

TEST(ParsePng, RefusesWhatIsCutShortAnywhere) {
  const std::string file = png_of(20, 20, PngKind::grey, 8, counted(400));
  constexpr std::size_t last_check_sum = 4;  // of the empty chunk at the end, which nobody looks at
  for (std::size_t length = 8; length < file.size() - last_check_sum; ++length) {
    const auto error = error_of([&] { parse_png(as_bytes(file.substr(0, length))); });
    ASSERT_TRUE(error) << length << " of " << file.size() << " bytes were enough";
    EXPECT_EQ(error->exit(), Exit::data);
  }
}

TEST(ParsePng, RefusesSpoiltPixels) {
  std::string file = png_of(20, 20, PngKind::grey, 8, counted(400));
  file[file.size() / 2] ^= 0x10;
  const auto error = error_of([&] { parse_png(as_bytes(file)); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("damaged"));
}

TEST(ParsePng, RefusesMorePixelsThanItsBytesCanHold) {
  std::string file = png_of(4, 4, PngKind::grey, 8, counted(16));
  const std::string header = std::string("IHDR") + testing::published(int32_t{20000}, true) +
                             testing::published(int32_t{20000}, true) + std::string("\x08\0\0\0\0", 5);
  constexpr uint32_t polynomial = 0xedb88320;
  uint32_t check = ~uint32_t{0};
  for (const char letter : header) {
    check ^= static_cast<unsigned char>(letter);
    for (int bit = 0; bit < 8; ++bit) check = (check >> 1) ^ ((check & 1) != 0 ? polynomial : 0);
  }
  file.replace(12, header.size() + 4, header + testing::published(~check, true));
  const auto error = error_of([&] { parse_png(as_bytes(file)); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("20000 x 20000 pixels"));
}

}  // namespace
}  // namespace larmor
