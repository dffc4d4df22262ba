#include "larmor/formats/pictures/jpeg.h"

#include <cmath>
#include <string>
#include <vector>

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
using testing::jpeg_of;
using testing::ramp;

std::vector<float> jpeg_values(const StoredArray& array) {
  std::vector<float> values(static_cast<std::size_t>(array.count()));
  decode_voxels(array.voxels(), array.format, std::span(values));
  return values;
}

TEST(ParseJpeg, GivesBackWhatWasEncodedBaselineAndProgressive) {
  for (const bool progressive : {false, true}) {
    for (const int channels : {1, 3}) {
      const StoredArray array = parse_jpeg(as_bytes(jpeg_of(24, 16, channels, 100, progressive)));
      if (channels == 1) {
        ASSERT_THAT(array.shape, ElementsAre(24, 16));
      } else {
        ASSERT_THAT(array.shape, ElementsAre(24, 16, 1, 3));
      }
      const auto values = jpeg_values(array);
      for (int channel = 0; channel < channels; ++channel) {
        for (int row = 0; row < 16; ++row) {
          for (int column = 0; column < 24; ++column) {
            const auto place = static_cast<std::size_t>((channel * 16 + row) * 24 + column);
            ASSERT_NEAR(values[place], ramp(column, row, channel), 3)
                << channel << ' ' << row << ' ' << column;
          }
        }
      }
    }
  }
}

/// The frame header of a picture that is all claims, of that kind (0xc0 baseline, 0xc2 progressive), with a
/// first scan of `in_scan` components, padded.
std::string claims_of(unsigned char kind, int size, char in_scan) {
  const char high = static_cast<char>(size >> 8), low = static_cast<char>(size & 0xff);
  std::string bytes = {'\xff', '\xd8', '\xff', static_cast<char>(kind), 0, 17, 8, high, low, high, low, 3};
  for (const char component : {1, 2, 3}) bytes += {component, 0x11, 0};
  bytes += {'\xff', '\xda', 0, static_cast<char>(6 + 2 * in_scan), in_scan};
  for (char component = 1; component <= in_scan; ++component) bytes += {component, 0};
  bytes += std::string({0, 63, 0});
  return bytes + std::string(200'000, '\0');
}

TEST(ParseJpeg, RefusesScansThatWouldHaveToBeHeldAllAtOnce) {
  const auto refusal = [](const std::string& bytes) {
    const auto error = error_of([&] { parse_jpeg(as_bytes(bytes)); });
    return error ? error->message() : "";
  };
  EXPECT_THAT(refusal(claims_of(0xc2, 8000, 3)), HasSubstr("progressive JPEG of 8000 x 8000"));
  EXPECT_THAT(refusal(claims_of(0xc0, 8000, 1)), HasSubstr("progressive JPEG of 8000 x 8000"))
      << "colour by colour";
  EXPECT_THAT(refusal(claims_of(0xc0, 8000, 3)), ::testing::Not(HasSubstr("progressive JPEG")));
  EXPECT_THAT(refusal(claims_of(0xc2, 1000, 3)), ::testing::Not(HasSubstr("progressive JPEG")));
}

TEST(ParseJpeg, GivesOneChannelWhenGreyIsWanted) {
  for (const int channels : {1, 3}) {
    const StoredArray array = parse_jpeg(as_bytes(jpeg_of(24, 16, channels, 100)), /*grey=*/true);
    ASSERT_THAT(array.shape, ElementsAre(24, 16));
    const double mixed =
        channels == 1 ? ramp(5, 3, 0) : 0.299 * ramp(5, 3, 0) + 0.587 * ramp(5, 3, 1) + 0.114 * ramp(5, 3, 2);
    EXPECT_NEAR(jpeg_values(array)[3 * 24 + 5], mixed, 2);
  }
}

TEST(ParseJpeg, RefusesWhatIsCutShort) {
  const std::string file = jpeg_of(64, 64, 3);
  for (std::size_t length = 3; length + 2 < file.size(); length += 7) {
    ASSERT_TRUE(error_of([&] { parse_jpeg(as_bytes(file.substr(0, length))); }))
        << length << " bytes were enough";
  }
  const auto error = error_of([&] { parse_jpeg(as_bytes(file.substr(0, file.size() / 2 + 300))); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("cut short"));
}

// The places between the segments before the first scan.
std::vector<std::size_t> places_before_scan(const std::string& picture) {
  std::vector<std::size_t> places;
  for (std::size_t at = 2; picture[at + 1] != '\xda';) {
    places.push_back(at);
    at += 2U + static_cast<std::size_t>(static_cast<unsigned char>(picture[at + 2]) << 8 |
                                        static_cast<unsigned char>(picture[at + 3]));
  }
  return places;
}

TEST(ParseJpeg, PassesOverStrayBytesThatHarmNoPixel) {
  for (const bool progressive : {false, true}) {
    const std::string picture = jpeg_of(20, 18, 3, 50, progressive);
    const auto pixels = jpeg_values(parse_jpeg(as_bytes(picture)));
    for (const std::size_t place : places_before_scan(picture)) {
      for (const std::string stray : {"s", "sixteen of them!", "\xff", "a\xff"}) {
        std::string longer = picture;
        longer.insert(place, stray);
        EXPECT_EQ(jpeg_values(parse_jpeg(as_bytes(longer))), pixels) << place << ' ' << stray;
      }
    }
    EXPECT_EQ(jpeg_values(parse_jpeg(as_bytes(picture + "\xff\xd8 behind"))), pixels);
  }
}

// The decoder ended elsewhere than the encoder, so its pixels are invented. The library tells of its first
// warning alone: stray bytes before the scan hide none of these.
TEST(ParseJpeg, RefusesStrayBytesBehindAScan) {
  for (const bool progressive : {false, true}) {
    std::string picture = jpeg_of(20, 18, 3, 50, progressive);
    for (const bool has_more : {false, true}) {
      if (has_more) picture.insert(places_before_scan(picture).back(), "stray");
      std::vector<std::size_t> places = {picture.rfind("\xff\xd9")};
      const std::size_t first = picture.find("\xff\xda");
      if (progressive) places.push_back(picture.find("\xff\xda", first + 2));
      for (const std::size_t place : places) {
        std::string longer = picture;
        longer.insert(place, "stray");
        const auto error = error_of([&] { parse_jpeg(as_bytes(longer)); });
        ASSERT_TRUE(error) << place;
        EXPECT_THAT(error->message(), HasSubstr("extraneous bytes"));
      }
    }
  }
}

TEST(ParseJpeg, RefusesWhatIsCutShortBehindStrayBytes) {
  for (const bool progressive : {false, true}) {
    std::string picture = jpeg_of(20, 18, 3, 50, progressive);
    picture.insert(places_before_scan(picture).back(), "stray");
    EXPECT_NO_THROW(parse_jpeg(as_bytes(picture)));
    for (std::size_t cut = 0; cut + 1 < picture.size(); ++cut)
      EXPECT_THROW(parse_jpeg(as_bytes(picture.substr(0, cut))), Error) << cut << " of " << picture.size();
  }
}

TEST(ParseJpeg, RefusesMorePixelsThanItsBytesCanHold) {
  std::string file = jpeg_of(16, 16, 1);
  const std::size_t frame = file.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  file.replace(frame + 5, 4, "\x4e\x20\x4e\x20");
  const auto error = error_of([&] { parse_jpeg(as_bytes(file)); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("20000 x 20000 pixels"));
}

}  // namespace
}  // namespace larmor
