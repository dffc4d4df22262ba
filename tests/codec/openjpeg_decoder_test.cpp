#include "larmor/codec/openjpeg_decoder.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/codec/frame_decoder.h"

#include "tests/codec/support/compressed_frames.h"
#include "tests/support/cases.h"
#include "tests/support/jpeg2000_frame.h"

namespace larmor {
namespace {

using testing::CompressedFrames;
using ::testing::HasSubstr;
using testing::jpeg2000_frame;

constexpr const char* lossless_syntax = "1.2.840.10008.1.2.4.90";

std::string decoded_2000(const CompressedFrames& frames) {
  std::vector<std::byte> out(frames.bytes(), std::byte{0xaa});
  decode_frames(frames.encoded(), out);
  return testing::text_of(out);
}

std::string openjpeg_refusal(const CompressedFrames& frames) {
  const auto error = testing::error_of([&] { decoded_2000(frames); });
  EXPECT_TRUE(!error || error->exit() == Exit::data);
  return error ? error->message() : "";
}

CompressedFrames one_frame(const std::string& bytes, int bits = 12) {
  CompressedFrames frames(lossless_syntax, 17, 13, bits);
  frames.piece(bytes);
  return frames;
}

std::string frame_of(int bits = 12) {
  return jpeg2000_frame(17, 13, bits, testing::uneven_values(17, 13, bits));
}

TEST(OpenJpegDecoder, GivesBackWhatALosslessEncoderTook) {
  for (const int bits : {9, 12, 16}) {
    const auto values = testing::uneven_values(17, 13, bits);
    for (const int tile : {0, 8}) {
      CompressedFrames frames(lossless_syntax, 17, 13, bits);
      const std::string frame = jpeg2000_frame(17, 13, bits, values, 1, false, tile);
      EXPECT_EQ(decoded_2000(frames.piece(frame).piece(frame)),
                testing::as_words(values) + testing::as_words(values))
          << bits << ' ' << tile;
    }
  }
}

TEST(OpenJpegDecoder, KeepsSigns) {
  std::vector<int> values = testing::uneven_values(17, 13, 12);
  for (int& value : values) value -= 2048;
  const std::string words = decoded_2000(one_frame(jpeg2000_frame(17, 13, 12, values, 1, true)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    int16_t word = 0;
    std::memcpy(&word, words.data() + 2 * i, sizeof word);
    ASSERT_EQ(word, values[i]) << i;
  }
}

TEST(OpenJpegDecoder, UndoesTheTransformOfColours) {
  std::vector<int> values;
  for (int i = 0; i < 17 * 13 * 3; ++i) values.push_back(i * 37 % 256);
  CompressedFrames frames(lossless_syntax, 17, 13, 8);
  frames.allocated(8).colours("YBR_RCT").piece(jpeg2000_frame(17, 13, 8, values, 3));
  std::vector<std::byte> out(frames.bytes());
  const DecodedForm form = decode_frames(frames.encoded(), out);
  EXPECT_EQ(form.photometric, "RGB");
  EXPECT_FALSE(form.by_plane);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(std::to_integer<int>(out[i]), values[i]) << i;
}

TEST(OpenJpegDecoder, RefusesEveryStreamThatIsCutShort) {
  const std::string whole = frame_of();
  EXPECT_EQ(openjpeg_refusal(one_frame(whole)), "");
  for (const char* after : {"z", "\xff"})
    EXPECT_EQ(openjpeg_refusal(one_frame(whole + after)), "") << "made even";
  for (std::size_t length = 0; length < whole.size(); length += length < 60 ? 7 : 1) {
    EXPECT_NE(openjpeg_refusal(one_frame(whole.substr(0, length))), "") << length;
    // The same with a marker of the end behind the cut.
    if (length + 2 < whole.size() && length > 42) {
      EXPECT_NE(openjpeg_refusal(one_frame(whole.substr(0, length) + "\xff\xd9")), "") << length;
    }
  }
  EXPECT_THAT(openjpeg_refusal(one_frame(whole.substr(0, whole.size() - 2))), HasSubstr("is cut short"));
}

TEST(OpenJpegDecoder, RefusesSizesThatAreNotTheHeaders) {
  const auto values = testing::uneven_values(17, 13, 12);
  EXPECT_THAT(openjpeg_refusal(one_frame(jpeg2000_frame(13, 17, 12, values))),
              HasSubstr("contradicts itself"));
  CompressedFrames narrow(lossless_syntax, 17, 13, 8);
  narrow.allocated(8).piece(frame_of());
  EXPECT_THAT(openjpeg_refusal(narrow), HasSubstr("of 1 samples of at most 8 bits"));
  CompressedFrames colours(lossless_syntax, 17, 13, 12);
  colours.colours("RGB").piece(frame_of());
  EXPECT_THAT(openjpeg_refusal(colours), HasSubstr("contradicts itself"));
  // A picture of many tiles of one pixel costs its decoder far more memory than it has pixels.
  std::string tiles = frame_of();
  for (const std::size_t field : {24, 28}) tiles.replace(field, 4, std::string("\0\0\0\1", 4));
  EXPECT_THAT(openjpeg_refusal(one_frame(tiles)), HasSubstr("lack 220 of 221 tiles"));
  for (const std::size_t field : {8, 12}) tiles.replace(field, 4, std::string("\0\0\4\0", 4));
  CompressedFrames many(lossless_syntax, 1024, 1024, 12);
  EXPECT_THAT(openjpeg_refusal(many.piece(tiles)), HasSubstr("in more than 4096 tiles"));
}

TEST(OpenJpegDecoder, RefusesWhatIsNoCodestream) {
  EXPECT_THAT(openjpeg_refusal(one_frame("words")), HasSubstr("no JPEG 2000 codestream"));
  std::string other = frame_of();
  other.replace(0, 2, "\xff\xd8");
  EXPECT_THAT(openjpeg_refusal(one_frame(other)), HasSubstr("no JPEG 2000 codestream"));
}

TEST(OpenJpegDecoder, DamagedStreamsAreRefusedOrDecoded) {
  const std::string whole = frame_of();
  for (std::size_t at = 42; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    openjpeg_refusal(one_frame(damaged));  // no crash, no other exception
  }
}

TEST(OpenJpegDecoder, ItsSyntaxesAreNotDcmtks) {
  EXPECT_TRUE(is_decoded_by_openjpeg("1.2.840.10008.1.2.4.90"));
  EXPECT_TRUE(is_decoded_by_openjpeg("1.2.840.10008.1.2.4.91"));
  EXPECT_FALSE(is_decoded_by_openjpeg("1.2.840.10008.1.2.4.92"));
  EXPECT_TRUE(is_decoded_by_library("1.2.840.10008.1.2.4.80"));
  EXPECT_TRUE(is_decoded_by_library("1.2.840.10008.1.2.4.90"));
  EXPECT_FALSE(is_decoded_by_library("1.2.840.10008.1.2.5"));
}

}  // namespace
}  // namespace larmor
