#include "larmor/codec/png_rows.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/seed.h"
#include "larmor/codec/png_picture.h"

#include "tests/support/image_files.h"
#include "tests/support/mutation.h"
#include "tests/support/picture_files.h"
#include "tests/support/seeds.h"

namespace larmor {
namespace {

using testing::as_bytes;
using ::testing::ElementsAre;
using testing::png_of_rows;
using testing::PngKind;

constexpr int filters = 5;

std::vector<int> undone(uint8_t filter, const std::vector<uint8_t>& filtered,
                        const std::vector<uint8_t>& above, std::size_t pixel_bytes) {
  std::vector<uint8_t> plain(filtered.size());
  EXPECT_TRUE(undo_png_filter(filter, std::as_bytes(std::span(filtered)), std::as_bytes(std::span(above)),
                              pixel_bytes, std::as_writable_bytes(std::span(plain))));
  return {plain.begin(), plain.end()};
}

TEST(UndoPngFilter, AddsWhatEachFilterForetold) {
  const std::vector<uint8_t> row = {10, 20, 250, 40}, above = {5, 9, 100, 3};
  EXPECT_THAT(undone(0, row, above, 1), ElementsAre(10, 20, 250, 40));
  EXPECT_THAT(undone(1, row, above, 1), ElementsAre(10, 30, 24, 64)) << "modulo 256";
  EXPECT_THAT(undone(1, row, above, 2), ElementsAre(10, 20, 4, 60)) << "the same sample of the pixel before";
  EXPECT_THAT(undone(2, row, above, 1), ElementsAre(15, 29, 94, 43));
  // 10 + 5/2, 20 + (12 + 9)/2, 250 + (30 + 100)/2, 40 + (59 + 3)/2
  EXPECT_THAT(undone(3, row, above, 1), ElementsAre(12, 30, 59, 71));
  // Foretold: 5 above; from 15, 9 and corner 5 the left 15 (19 is nearest to it); from 35, 100 and corner 9
  // the one above (126); from 94, 3 and corner 100 the one above (-3).
  EXPECT_THAT(undone(4, row, above, 1), ElementsAre(15, 35, 94, 43));
}

TEST(UndoPngFilter, KnowsNoOther) {
  std::vector<std::byte> row(4), plain(4);
  EXPECT_FALSE(undo_png_filter(5, row, row, 1, plain));
}

std::string random_rows(Draws& draws, std::size_t rows, std::size_t row_bytes,
                        std::optional<uint8_t> filter) {
  std::string filtered;
  for (std::size_t row = 0; row < rows; ++row) {
    filtered += static_cast<char>(filter ? *filter : draws.below(filters));
    for (std::size_t i = 0; i < row_bytes; ++i) filtered += static_cast<char>(draws.below(256));
  }
  return filtered;
}

bool are_unpacked(const std::string& file, const PngRows& rows) {
  std::vector<std::byte> pixels(rows.rows * rows.row_bytes());
  return unpack_png_rows(as_bytes(file), rows, pixels);
}

struct Picture {
  Unpacked form;
  std::vector<std::byte> pixels;
};

Picture picture_of(const std::string& file, bool by_library) {
  Picture picture{.form = unpack_png(as_bytes(file), {}, by_library), .pixels = {}};
  const Unpacked& form = picture.form;
  EXPECT_EQ(form.end, Unpacked::End::full);
  if (form.columns * form.rows > 1 << 20) return picture;  // a lie
  picture.pixels.resize(
      static_cast<std::size_t>(form.columns * form.rows * form.samples * form.sample_bytes));
  picture.form = unpack_png(as_bytes(file), picture.pixels, by_library);
  EXPECT_EQ(form.end, Unpacked::End::whole);
  return picture;
}

struct Layouts {
  PngKind kind;
  std::size_t samples;
};
constexpr Layouts layouts[] = {
    {PngKind::grey, 1}, {PngKind::grey_alpha, 2}, {PngKind::rgb, 3}, {PngKind::rgb_alpha, 4}};

TEST(UnpackPngRows, AgreesWithLibspngOnEveryKindAndFilter) {
  Draws draws(make_key(1, 0, 0, "rows"));
  for (const auto& [kind, samples] : layouts) {
    for (const int bits : {8, 16}) {
      for (int filter = 0; filter <= filters; ++filter) {
        const std::size_t pixel_bytes = samples * static_cast<std::size_t>(bits) / 8;
        const PngRows rows{.rows = 7, .pixels = 19, .pixel_bytes = pixel_bytes};
        const auto one = filter < filters ? std::optional(static_cast<uint8_t>(filter)) : std::nullopt;
        const std::string file =
            png_of_rows(19, 7, kind, bits, random_rows(draws, 7, rows.row_bytes(), one), 1 + filter % 3);
        ASSERT_TRUE(are_unpacked(file, rows)) << "left to the library";
        const Picture ours = picture_of(file, false), theirs = picture_of(file, true);
        EXPECT_EQ(ours.form.samples, theirs.form.samples);
        EXPECT_EQ(ours.pixels, theirs.pixels) << samples << " samples of " << bits << " bits, " << filter;
      }
    }
  }
}

TEST(UnpackPngRows, LeavesWhatIsUnusualToTheLibrary) {
  const PngRows rows{.rows = 3, .pixels = 4, .pixel_bytes = 1};
  const auto unpacked = [&](const std::string& file) { return are_unpacked(file, rows); };
  const std::string good(3 * 5, '\0');
  const std::string file = png_of_rows(4, 3, PngKind::grey, 8, good);
  EXPECT_TRUE(unpacked(file));
  EXPECT_FALSE(unpacked(png_of_rows(4, 3, PngKind::grey, 8, good + '\0'))) << "pixels to spare";
  EXPECT_FALSE(unpacked(png_of_rows(4, 3, PngKind::grey, 8, good.substr(1)))) << "too few pixels";
  EXPECT_FALSE(unpacked(png_of_rows(4, 3, PngKind::grey, 8, '\5' + good.substr(1)))) << "no such filter";
  const auto with_chunk = [&](const std::string& name, const std::string& before) {
    const std::string chunk = std::string(4, '\0') + name + std::string(4, '\0');
    std::string longer = file;
    return testing::with_check_sums(longer.insert(longer.find(before) - 4, chunk));
  };
  EXPECT_TRUE(unpacked(with_chunk("tEXt", "IEND"))) << "a remark";
  EXPECT_FALSE(unpacked(with_chunk("tRNS", "IDAT"))) << "has a say in the pixels";
  EXPECT_FALSE(unpacked(with_chunk("QQQQ", "IDAT"))) << "nobody knows what it says";
  EXPECT_FALSE(unpacked(with_chunk("IDAT", "IHDR"))) << "before the header";
  const std::string two = png_of_rows(4, 3, PngKind::grey, 8, good, 2);
  EXPECT_TRUE(unpacked(two));
  std::string parted = two;
  parted.insert(two.rfind("IDAT") - 4, with_chunk("tEXt", "IEND").substr(file.size() - 12, 12));
  EXPECT_FALSE(unpacked(parted)) << "pixels in two places";
}

TEST(UnpackPngRows, LooksAtEveryCheckSum) {
  Draws draws(make_key(2, 0, 0, "rows"));
  const std::string file = png_of_rows(9, 5, PngKind::grey, 8, random_rows(draws, 5, 9, std::nullopt), 2);
  const PngRows rows{.rows = 5, .pixels = 9, .pixel_bytes = 1};
  ASSERT_TRUE(are_unpacked(file, rows));
  for (std::size_t length = 8; length < file.size(); ++length)
    EXPECT_FALSE(are_unpacked(file.substr(0, length), rows)) << length << " bytes were enough";
  for (std::size_t bit = 64; bit < 8 * file.size(); ++bit) {
    std::string spoilt = file;
    spoilt[bit / 8] = static_cast<char>(spoilt[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(are_unpacked(spoilt, rows)) << "bit " << bit << " was not looked at";
  }
}

/// The pixels, or the message of the refusal.
std::string outcome(const std::string& file, bool by_library) {
  try {
    const Picture picture = picture_of(file, by_library);
    return {reinterpret_cast<const char*>(picture.pixels.data()), picture.pixels.size()};
  } catch (const Error& error) {
    return error.message();
  }
}

TEST(UnpackPng, EndsAsWithLibspngAloneOnSpoiltFiles) {
  auto files = testing::seeds().at("png");
  Draws draws(make_key(3, 0, 0, "rows"));
  files.push_back(png_of_rows(13, 6, PngKind::grey, 8, random_rows(draws, 6, 13, std::nullopt), 2));
  files.push_back(png_of_rows(5, 6, PngKind::rgb, 16, random_rows(draws, 6, 30, std::nullopt)));
  for (int round = 0; round < 6000; ++round) {
    std::string file = testing::mutated(files[static_cast<std::size_t>(round) % files.size()], draws);
    if (round % 3 != 0) file = testing::with_check_sums(file);
    if (file.substr(0, 8) != files.front().substr(0, 8)) continue;  // libspng alone judges its signature
    ASSERT_EQ(outcome(file, false), outcome(file, true)) << "round " << round;
  }
}

}  // namespace
}  // namespace larmor
