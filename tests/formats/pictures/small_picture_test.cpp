#include "larmor/formats/pictures/small_picture.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/hash.h"
#include "larmor/device/tensors/tensor_file.h"

#include "tests/support/picture_files.h"
#include "tests/support/shared_data.h"

namespace larmor {
namespace {

std::string bytes_of(const at::Tensor& pixels) {
  const at::Tensor rgb = pixels.expand({3, -1, -1}).contiguous();
  return {static_cast<const char*>(rgb.const_data_ptr()), static_cast<std::size_t>(rgb.numel())};
}

TEST(SmallPicture, IsBitForBitWhatPillowMakes) {
  const auto golden = larmor::testing::shared_golden() / "xray_preprocess.safetensors";
  const auto data = larmor::testing::shared_data();
  if (data.empty() || !std::filesystem::exists(golden)) GTEST_SKIP() << "no shared golden/xray_preprocess";
  const auto recorded = read_tensors(golden);
  int pictures = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data / "cxr")) {
    const auto hash = recorded.find(entry.path().stem().string() + "/pil/sha256_of_chw_bytes");
    if (hash == recorded.end()) continue;
    const SmallPicture small = read_small_picture(entry.path(), 224, 224);
    const at::Tensor expected = hash->second.contiguous();
    std::string digits;
    for (int64_t i = 0; i < expected.numel(); ++i) {
      const char* const hex = "0123456789abcdef";
      const auto byte = expected.const_data_ptr<uint8_t>()[i];
      digits += hex[byte >> 4];
      digits += hex[byte & 15];
    }
    EXPECT_EQ(sha256(bytes_of(small.pixels)), digits) << entry.path();
    const auto size = recorded.at(entry.path().stem().string() + "/size_width_height");
    EXPECT_EQ(small.columns, size[0].item<int64_t>());
    EXPECT_EQ(small.rows, size[1].item<int64_t>());
    ++pictures;
  }
  EXPECT_EQ(pictures, 8);
}

TEST(SmallPicture, KeepsWhatHasTheSizeAlready) {
  const at::Tensor planes = at::arange(48, at::kByte).reshape({1, 6, 8});
  EXPECT_TRUE(at::equal(resized_as_pillow(planes, 8, 6), planes));
}

TEST(SmallPicture, AnEvenPictureStaysEven) {
  const at::Tensor even = at::full({3, 37, 53}, 200, at::kByte);
  EXPECT_TRUE(at::equal(resized_as_pillow(even, 10, 80), at::full({3, 80, 10}, 200, at::kByte)));
}

TEST(SmallPicture, AveragesPairsWhenItHalves) {
  const at::Tensor row = at::arange(0, 80, 10, at::kByte).reshape({1, 1, 8});
  const at::Tensor small = resized_as_pillow(row, 4, 1);
  // A triangle two old pixels wide to each side: 1 3 3 1, cut at the borders.
  EXPECT_EQ(small[0][0][1].item<int64_t>(), 25);
  EXPECT_EQ(small[0][0][2].item<int64_t>(), 45);
}

// Samples of a pixel as they lie in the file, and what each channel of the result is made of.
void expect_channels(larmor::testing::PngKind kind, int bits, int samples, const std::vector<int>& channels,
                     const std::function<uint16_t(int, int)>& value) {
  constexpr int columns = 50, rows = 40;
  std::vector<uint16_t> stored;
  at::Tensor planes = at::empty({static_cast<int64_t>(channels.size()), rows, columns}, at::kByte);
  for (int pixel = 0; pixel < columns * rows; ++pixel) {
    for (int sample = 0; sample < samples; ++sample) stored.push_back(value(pixel, sample));
    for (std::size_t channel = 0; channel < channels.size(); ++channel) {
      const uint16_t whole = value(pixel, channels[channel]);
      planes.mutable_data_ptr<uint8_t>()[static_cast<int>(channel) * columns * rows + pixel] =
          static_cast<uint8_t>(bits == 16 ? whole >> 8 : whole);
    }
  }
  const ScratchFolder scratch;
  DiskStorage storage;
  write_text(storage, scratch.path() / "a.png", testing::png_of(columns, rows, kind, bits, stored));
  const at::Tensor small = read_small_picture(scratch.path() / "a.png", 24, 24).pixels;
  EXPECT_TRUE(at::equal(small, resized_as_pillow(planes, 24, 24))) << static_cast<int>(kind) << ' ' << bits;
}

TEST(SmallPicture, LeavesAlphaAndLowerBitsOut) {
  const auto value = [](int pixel, int sample) {
    return static_cast<uint16_t>((pixel * 7 + sample * 50) % 256);
  };
  const auto wide = [](int pixel, int sample) { return static_cast<uint16_t>(pixel * 31 + sample * 5000); };
  using testing::PngKind;
  expect_channels(PngKind::grey, 8, 1, {0}, value);
  expect_channels(PngKind::grey_alpha, 8, 2, {0}, value);
  expect_channels(PngKind::rgb, 8, 3, {0, 1, 2}, value);
  expect_channels(PngKind::rgb_alpha, 8, 4, {0, 1, 2}, value);
  expect_channels(PngKind::grey, 16, 1, {0}, wide);
  expect_channels(PngKind::rgb, 16, 3, {0, 1, 2}, wide);
}

TEST(SmallPicture, AFilmOfTwelveBitsInWordsKeepsItsUpperEight) {
  EXPECT_EQ(bits_in_use(0), 8);
  EXPECT_EQ(bits_in_use(255), 8);
  EXPECT_EQ(bits_in_use(256), 10);
  EXPECT_EQ(bits_in_use(4095), 12);
  EXPECT_EQ(bits_in_use(4096), 14);
  EXPECT_EQ(bits_in_use(65535), 16);
  const ScratchFolder scratch;
  DiskStorage storage;
  std::vector<uint16_t> film;
  for (int pixel = 0; pixel < 64 * 64; ++pixel) film.push_back(static_cast<uint16_t>(pixel));
  write_text(storage, scratch.path() / "a.png", testing::png_of(64, 64, testing::PngKind::grey, 16, film));
  const at::Tensor whole = read_small_picture(scratch.path() / "a.png", 64, 64).pixels.flatten();
  EXPECT_TRUE(whole.equal((at::arange(64 * 64) / 16).floor().to(at::kByte)));
}

TEST(SmallPicture, APictureOfThreeEqualColoursHasOneChannelAndAStainThree) {
  const auto grey = [](int pixel, int) { return static_cast<uint16_t>(pixel % 251); };
  expect_channels(testing::PngKind::rgb, 8, 3, {0}, grey);
  const auto stained = [&](int pixel, int sample) {
    return static_cast<uint16_t>(pixel == 1234 && sample == 2 ? 255 : grey(pixel, sample));
  };
  expect_channels(testing::PngKind::rgb, 8, 3, {0, 1, 2}, stained);
}

TEST(SmallPicture, RefusesWhatIsNoPictureWithItsPath) {
  const ScratchFolder scratch;
  DiskStorage storage;
  write_text(storage, scratch.path() / "a.png", "no picture");
  try {
    read_small_picture(scratch.path() / "a.png", 8, 8);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    EXPECT_NE(error.message().find("a.png"), std::string::npos);
  }
}

}  // namespace
}  // namespace larmor
