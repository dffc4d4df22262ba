#include "larmor/formats/dicom/dicom_codec.h"

#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/codec/dcmtk_decoder.h"
#include "larmor/formats/dicom/dicom_header.h"
#include "larmor/formats/dicom/dicom_scan.h"

#include "tests/support/cases.h"
#include "tests/support/dicom_files.h"
#include "tests/support/encoded_pixels.h"
#include "tests/support/image_files.h"
#include "tests/support/picture_files.h"

namespace larmor {
namespace {

using testing::as_bytes;
using testing::error_of;
using ::testing::HasSubstr;

/// One segment of run lengths a byte of the pixel, high bytes first. Source: PS3.5 annex G.
std::string rle_of(const std::vector<std::string>& segments) {
  std::string header = testing::published(static_cast<int32_t>(segments.size())), body;
  for (const std::string& segment : segments) {
    header += testing::published(static_cast<int32_t>(64 + body.size()));
    body += segment;
  }
  header.resize(64, '\0');
  return header + body;
}

EncodedPixels six_words(const std::string& fragment) {
  EncodedPixels encoded{.transfer_syntax = testing::rle_lossless,
                        .photometric = "MONOCHROME2",
                        .rows = 2,
                        .columns = 3,
                        .frames = 1,
                        .samples = 1,
                        .bits_allocated = 16,
                        .bits_stored = 16,
                        .high_bit = 15,
                        .fragments = {}};
  encoded.fragments = {{}, as_bytes(fragment)};
  return encoded;
}

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(DecodePixels, UnpacksRuns) {
  const std::string fragment = rle_of({std::string("\xfb\x01", 2), std::string("\x05\0\1\2\3\4\5", 7)});
  const DecodedPixels decoded = decode_pixels(six_words(fragment));
  EXPECT_EQ(text_of(decoded.bytes).substr(0, 12), std::string("\0\1\1\1\2\1\3\1\4\1\5\1", 12));
}

TEST(DecodePixels, UnpacksJpegInGreyAndColour) {
  for (const int channels : {1, 3}) {
    const std::string fragment = testing::jpeg_of(24, 16, channels, 100);
    EncodedPixels encoded{.transfer_syntax = testing::jpeg_baseline,
                          .photometric = channels == 1 ? "MONOCHROME2" : "YBR_FULL",
                          .rows = 16,
                          .columns = 24,
                          .frames = 1,
                          .samples = channels,
                          .bits_allocated = 8,
                          .bits_stored = 8,
                          .high_bit = 7,
                          .fragments = {{}, as_bytes(fragment)}};
    const DecodedPixels decoded = decode_pixels(encoded);
    ASSERT_GE(decoded.bytes.size(), static_cast<std::size_t>(24 * 16 * channels));
    EXPECT_EQ(decoded.form.photometric, channels == 1 ? "MONOCHROME2" : "RGB");
    EXPECT_FALSE(decoded.form.by_plane);
    for (int channel = 0; channel < channels; ++channel) {
      const auto place = static_cast<std::size_t>((5 * 24 + 7) * channels + channel);
      EXPECT_NEAR(std::to_integer<int>(decoded.bytes.data()[place]), testing::ramp(7, 5, channel), 3);
    }
  }
}

TEST(DecodePixels, RefusesDamageWithTheReasonAndPrintsNothing) {
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  const auto error = error_of([] { decode_pixels(six_words(std::string(64, '\xff'))); });
  EXPECT_EQ(::testing::internal::GetCapturedStderr() + ::testing::internal::GetCapturedStdout(), "");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("cannot be decoded: "));
}

TEST(DecodePixels, RefusesStreamsOfAnotherSizeAndMoreFramesThanPieces) {
  const std::string fragment = testing::jpeg_of(24, 16, 1);
  EncodedPixels encoded = six_words(fragment);
  encoded.transfer_syntax = testing::jpeg_baseline;
  const auto size = error_of([&] { decode_pixels(encoded); });
  ASSERT_TRUE(size);
  EXPECT_THAT(size->message(), HasSubstr("24 x 16 of 1 samples of 8 bits, its header says 3 x 2"));
  encoded.frames = 2;
  const auto frames = error_of([&] { decode_pixels(encoded); });
  ASSERT_TRUE(frames);
  EXPECT_THAT(frames->message(), HasSubstr("claims 2 frames"));
}

TEST(DecodePixels, RefusesStreamsWhoseSegmentsLeadNowhere) {
  std::string fragment = testing::jpeg_of(24, 16, 1);
  for (const char length : {'\0', '\1'}) {
    fragment[4] = '\0';
    fragment[5] = length;
    EncodedPixels encoded = six_words(fragment);
    encoded.transfer_syntax = testing::jpeg_baseline;
    const auto error = error_of([&] { decode_pixels(encoded); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), HasSubstr("do not say their size"));
  }
}

TEST(DecodePixels, RefusesTheMarkerThatDcmtkNeverComesPast) {
  std::string fragment = testing::jpeg_of(24, 16, 1);
  fragment[fragment.find("\xff\xc0") + 1] = '\1';
  EncodedPixels encoded = six_words(fragment);
  encoded.transfer_syntax = testing::jpeg_baseline;
  const auto error = error_of([&] { decode_pixels(encoded); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("do not say their size"));
}

TEST(DecodePixels, GivesBackWhatLosslessEncodersTook) {
  std::vector<int> values(64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * i);
  for (const char* syntax : {"1.2.840.10008.1.2.4.70", "1.2.840.10008.1.2.4.80", testing::rle_lossless}) {
    const std::string fragment = testing::encoded_frame(syntax, 8, 8, 12, values);
    EncodedPixels encoded = six_words(fragment);
    encoded.transfer_syntax = syntax;
    encoded.rows = encoded.columns = 8;
    encoded.bits_stored = 12;
    encoded.high_bit = 11;
    const DecodedPixels decoded = decode_pixels(encoded);
    ASSERT_GE(decoded.bytes.size(), 128U);
    for (std::size_t i = 0; i < values.size(); ++i) {
      uint16_t word = 0;
      std::memcpy(&word, decoded.bytes.data() + 2 * i, 2);
      ASSERT_EQ(word, values[i]) << syntax << ' ' << i;
    }
  }
}

TEST(DecodePixels, GivesOfRealFilesTheBitsThatDecodingHereGives) {
  if (testing::shared_data().empty()) GTEST_SKIP() << "the folder of real images is not on this machine";
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(testing::shared_data() / "dicom")) {
    if (!entry.is_regular_file() || entry.path().extension() != ".dcm") continue;
    const DicomFile file = open_dicom_file(entry.path());
    const DicomHeader& header = file.header;
    if (!header.pixels.in_fragments || !is_decoded_by_dcmtk(header.transfer_syntax)) continue;
    const EncodedPixels encoded =
        encoded_pixels(header, find_fragments(file.bytes.view(), header.pixels.begin));
    const DecodedPixels apart = decode_pixels(encoded);
    Bytes here(decoded_bytes(encoded));
    const DecodedForm form = decode_by_dcmtk(encoded, here.view());
    EXPECT_TRUE(text_of(apart.bytes) == text_of(here)) << entry.path();
    EXPECT_EQ(apart.form.photometric, form.photometric) << entry.path();
    EXPECT_EQ(apart.form.by_plane, form.by_plane) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 6);
}

TEST(DecodePixels, WorksInManyThreads) {
  const std::string fragment = rle_of({std::string("\xfb\x01", 2), std::string("\x05\0\1\2\3\4\5", 7)});
  const std::string expected = text_of(decode_pixels(six_words(fragment)).bytes);
  std::vector<int> same(4);
  {
    std::vector<std::jthread> threads;
    for (int& count : same) {
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i)
          count += text_of(decode_pixels(six_words(fragment)).bytes) == expected ? 1 : 0;
      });
    }
  }
  EXPECT_THAT(same, ::testing::Each(200));
}

TEST(Refusal, KnowsWhatIsDecoded) {
  EXPECT_EQ(refusal_of(testing::explicit_little), "");
  EXPECT_EQ(refusal_of("1.2.840.10008.1.2.4.80"), "");
  EXPECT_EQ(refusal_of("1.2.840.10008.1.2.4.91"), "");
  EXPECT_THAT(refusal_of("1.2.840.10008.1.2.4.92"), HasSubstr("JPEG 2000"));
  EXPECT_THAT(refusal_of("1.2.3"), HasSubstr("transfer syntax"));
}

}  // namespace
}  // namespace larmor
