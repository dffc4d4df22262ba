#include "larmor/formats/jpeg.h"

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

std::vector<float> values_of(const StoredArray& array) {
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
      const auto values = values_of(array);
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

TEST(ParseJpeg, GivesOneChannelWhenGreyIsWanted) {
  for (const int channels : {1, 3}) {
    const StoredArray array = parse_jpeg(as_bytes(jpeg_of(24, 16, channels, 100)), /*grey=*/true);
    ASSERT_THAT(array.shape, ElementsAre(24, 16));
    const double mixed =
        channels == 1 ? ramp(5, 3, 0) : 0.299 * ramp(5, 3, 0) + 0.587 * ramp(5, 3, 1) + 0.114 * ramp(5, 3, 2);
    EXPECT_NEAR(values_of(array)[3 * 24 + 5], mixed, 2);
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
