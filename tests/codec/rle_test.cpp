#include "larmor/codec/rle.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/codec/support/compressed_frames.h"
#include "tests/support/cases.h"
#include "tests/support/encoded_pixels.h"
#include "tests/support/image_files.h"

namespace larmor {
namespace {

using testing::CompressedFrames;
using ::testing::HasSubstr;
using namespace std::string_literals;

/// One segment a byte of the pixel, the high bytes first.
std::string frame_of(const std::vector<std::string>& segments) {
  std::string table = testing::published(static_cast<uint32_t>(segments.size())), body;
  for (const std::string& segment : segments) {
    table += testing::published(static_cast<uint32_t>(64 + body.size()));
    body += segment;
  }
  table.resize(64, '\0');
  return table + body;
}

/// 2 x 3 pixels.
CompressedFrames six_pixels(const std::vector<std::string>& segments, int bits = 8) {
  CompressedFrames frames(rle_lossless_syntax, 2, 3, bits);
  frames.allocated(bits).piece(frame_of(segments));
  return frames;
}

std::string unpacked(const CompressedFrames& frames) {
  std::vector<std::byte> out(frames.bytes(), std::byte{0xaa});
  unpack_rle(frames.encoded(), out);
  return testing::text_of(out);
}

std::string rle_refusal(const CompressedFrames& frames) {
  const auto error = testing::error_of([&] { unpacked(frames); });
  EXPECT_TRUE(!error || error->exit() == Exit::data);
  return error ? error->message() : "";
}

TEST(UnpackRle, GivesRunsAndLiterals) {
  EXPECT_EQ(unpacked(six_pixels({"\xfe\x09\x02\x01\x02\x03"s})), "\x09\x09\x09\x01\x02\x03");
  EXPECT_EQ(unpacked(six_pixels({"\x80\xfb\x07\x80"s})), std::string(6, '\x07'))
      << "a code that means nothing";
  EXPECT_EQ(unpacked(six_pixels({"\xfb\x07\0\0\0\0"s})), std::string(6, '\x07')) << "padding";
}

TEST(UnpackRle, PutsHighBytesBehindLowOnes) {
  EXPECT_EQ(unpacked(six_pixels({"\xfb\x01"s, "\x05\0\1\2\3\4\5"s}, 16)), "\0\1\1\1\2\1\3\1\4\1\5\1"s);
}

TEST(UnpackRle, GivesColoursByPixel) {
  CompressedFrames frames(rle_lossless_syntax, 1, 2, 8);
  frames.allocated(8).colours("RGB").piece(frame_of({"\x01rR"s, "\x01gG"s, "\x01"s + "bB"s}));
  std::vector<std::byte> out(6);
  const DecodedForm form = unpack_rle(frames.encoded(), out);
  EXPECT_EQ(testing::text_of(out), "rgbRGB");
  EXPECT_FALSE(form.by_plane);
  EXPECT_EQ(form.photometric, "RGB");
}

TEST(UnpackRle, UndoesWhatDcmtkPacks) {
  const std::vector<int> values = testing::uneven_values(37, 23, 16);
  CompressedFrames frames(rle_lossless_syntax, 37, 23, 16);
  const std::string packed = testing::encoded_frame(rle_lossless_syntax, 37, 23, 16, values);
  frames.piece(packed).piece(packed);
  EXPECT_EQ(unpacked(frames), testing::as_words(values) + testing::as_words(values));
}

TEST(UnpackRle, RefusesSegmentsThatEndEarly) {
  EXPECT_THAT(rle_refusal(six_pixels({"\xfe\x09"s})),
              HasSubstr("cut short: segment 1 of its compressed pixels gives 3 of 6"));
  EXPECT_THAT(rle_refusal(six_pixels({"\x05\1\2\3"s})), HasSubstr("gives 0 of 6"));
  EXPECT_THAT(rle_refusal(six_pixels({"\xfe\x09\xfe"s})), HasSubstr("gives 3 of 6"));
  EXPECT_THAT(rle_refusal(six_pixels({"\xfb\x01"s, ""s}, 16)), HasSubstr("segment 2"));
}

TEST(UnpackRle, RefusesSegmentsThatGoOn) {
  EXPECT_THAT(rle_refusal(six_pixels({"\xfa\x09"s})), HasSubstr("more than its 6 bytes"));
  EXPECT_THAT(rle_refusal(six_pixels({"\xfb\x09\xfb\x09"s})), HasSubstr("goes on behind its 6 bytes"));
}

TEST(UnpackRle, RefusesTablesThatLie) {
  EXPECT_THAT(rle_refusal(six_pixels({"\xfb\1"s}, 16)), HasSubstr("1 segments, and its samples need 2"));
  CompressedFrames short_table(rle_lossless_syntax, 2, 3, 8);
  EXPECT_THAT(rle_refusal(short_table.allocated(8).piece("\1\0\0\0"s)), HasSubstr("no table of segments"));
  for (const uint32_t offset : {0U, 63U, 67U, 0xfffffff0U}) {
    std::string frame = frame_of({"\xfb\1"s});
    frame.replace(4, 4, testing::published(offset));
    CompressedFrames frames(rle_lossless_syntax, 2, 3, 8);
    EXPECT_THAT(rle_refusal(frames.allocated(8).piece(frame)), HasSubstr("segment 1 lies from byte"))
        << offset;
  }
  EXPECT_THAT(rle_refusal(six_pixels({"\xfb\1"s}).allocated(1)), HasSubstr("compressed samples of 1 bits"));
}

}  // namespace
}  // namespace larmor
