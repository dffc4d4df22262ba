#include "larmor/codec/jpeg_stream.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/codec/support/compressed_frames.h"
#include "tests/support/cases.h"
#include "tests/support/encoded_pixels.h"
#include "tests/support/image_files.h"
#include "tests/support/picture_files.h"

namespace larmor {
namespace {

using testing::CompressedFrames;
using ::testing::HasSubstr;

std::string stream_refusal(const std::string& stream, const EncodedPixels& encoded) {
  const auto error = testing::error_of([&] { check_jpeg_stream(testing::as_bytes(stream), encoded); });
  EXPECT_TRUE(!error || error->exit() == Exit::data);
  return error ? error->message() : "";
}

EncodedPixels picture(int samples) {
  CompressedFrames frames(testing::jpeg_lossless, 16, 24, 8);
  if (samples == 3) frames.colours("YBR_FULL");
  return frames.encoded();
}

TEST(JpegStream, IsWalkedToItsEnd) {
  for (const int samples : {1, 3}) {
    for (const bool progressive : {false, true}) {
      const std::string stream = testing::jpeg_of(24, 16, samples, 90, progressive);
      EXPECT_EQ(stream_refusal(stream, picture(samples)), "");
      EXPECT_EQ(stream_refusal(stream + "rubbish", picture(samples)), "");
      for (std::size_t kept = 0; kept < stream.size(); ++kept)
        ASSERT_NE(stream_refusal(stream.substr(0, kept), picture(samples)), "") << kept;
    }
  }
}

TEST(JpegStream, StatesItsPrecisionAndKind) {
  const auto values = testing::uneven_values(16, 24, 11);
  const std::pair<const char*, int> kinds[] = {{testing::jpeg_lossless, 16},
                                               {testing::jpeg_ls, 11}};  // of DCMTK's encoders
  for (const auto& [syntax, precision] : kinds) {
    const std::string stream = testing::encoded_frame(syntax, 16, 24, 11, values);
    const JpegStream found = check_jpeg_stream(testing::as_bytes(stream), picture(1));
    EXPECT_EQ(found.precision, precision);
    EXPECT_EQ(found.is_jpeg_ls, syntax == testing::jpeg_ls);
    EXPECT_THAT(stream_refusal(stream.substr(0, stream.size() - 2), picture(1)), HasSubstr("cut short"));
  }
}

TEST(JpegStream, IsCutShortWithoutAllScansOfAProgressivePicture) {
  const std::string stream = testing::jpeg_of(24, 16, 1, 90, true);
  int scans = 0;
  for (std::size_t at = stream.find("\xff\xda"); at != std::string::npos;
       at = stream.find("\xff\xda", at + 2)) {
    if (++scans == 1) continue;
    EXPECT_THAT(stream_refusal(stream.substr(0, at) + "\xff\xd9", picture(1)), HasSubstr("cut short"));
  }
  EXPECT_GT(scans, 3);
}

TEST(JpegStream, IsRefusedWhereItContradictsTheHeader) {
  const std::string stream = testing::jpeg_of(24, 16, 1);
  EncodedPixels other = picture(1);
  other.rows = 17;
  EXPECT_THAT(stream_refusal(stream, other),
              HasSubstr("24 x 16 of 1 samples of 8 bits, its header says 24 x 17"));
  EXPECT_THAT(stream_refusal(stream, picture(3)), HasSubstr("contradicts itself"));
}

TEST(JpegStream, IsRefusedWhereMarkersMakeNoSense) {
  const std::string stream = testing::jpeg_of(24, 16, 1);
  const std::size_t frame = stream.find("\xff\xc0"), scan = stream.find("\xff\xda");
  const std::string header = stream.substr(frame, 2 + 11);
  EXPECT_THAT(stream_refusal(stream.substr(0, frame) + header + stream.substr(frame), picture(1)),
              HasSubstr("damaged at byte"))
      << "two frames";
  EXPECT_THAT(stream_refusal("\xff\xd8" + stream.substr(scan), picture(1)),
              HasSubstr("do not say their size"));
  EXPECT_THAT(stream_refusal("\xff\xd8\xff\xd9", picture(1)), HasSubstr("do not say their size"));
  EXPECT_THAT(stream_refusal(stream.substr(0, scan) + "\xff\xd9", picture(1)), HasSubstr("cut short"))
      << "no scan";
  EXPECT_THAT(stream_refusal(stream.substr(0, scan) + "x" + stream.substr(scan), picture(1)),
              HasSubstr("damaged at byte"));
}

}  // namespace
}  // namespace larmor
