#include "larmor/codec/dcmtk_decoder.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "larmor/base/error.h"

#include "tests/codec/support/compressed_frames.h"
#include "tests/support/cases.h"
#include "tests/support/encoded_pixels.h"
#include "tests/support/picture_files.h"

namespace larmor {
namespace {

using testing::CompressedFrames;
using ::testing::HasSubstr;

std::string decoded(const CompressedFrames& frames) {
  std::vector<std::byte> out(frames.bytes(), std::byte{0xaa});
  decode_by_dcmtk(frames.encoded(), out);
  return testing::text_of(out);
}

std::string dcmtk_refusal(const CompressedFrames& frames) {
  const auto error = testing::error_of([&] { decoded(frames); });
  EXPECT_TRUE(!error || error->exit() == Exit::data);
  return error ? error->message() : "";
}

TEST(DcmtkDecoder, GivesBackWhatLosslessEncodersTook) {
  for (const char* syntax : {testing::jpeg_lossless, testing::jpeg_ls}) {
    for (const int bits : {10, 12, 13, 16}) {
      const auto values = testing::uneven_values(17, 13, bits);
      CompressedFrames frames(syntax, 17, 13, bits);
      const std::string frame = testing::encoded_frame(syntax, 17, 13, bits, values);
      EXPECT_EQ(decoded(frames.piece(frame).piece(frame)),
                testing::as_words(values) + testing::as_words(values))
          << syntax << ' ' << bits;
    }
  }
}

TEST(DcmtkDecoder, ComesNearWhatALossyEncoderOfTwelveBitsTook) {
  std::vector<int> values;
  for (int i = 0; i < 32 * 24; ++i) values.push_back(i % 24 * 120 + i / 24 * 30);
  CompressedFrames frames("1.2.840.10008.1.2.4.51", 32, 24, 12);
  const std::string words =
      decoded(frames.piece(testing::encoded_frame("1.2.840.10008.1.2.4.51", 32, 24, 12, values)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    uint16_t word = 0;
    std::memcpy(&word, words.data() + 2 * i, sizeof word);
    ASSERT_NEAR(word, values[i], 40) << i;
  }
}

TEST(DcmtkDecoder, WidensSamplesOfFewerBytesThanTheHeaderAllocates) {
  const std::string stream = testing::jpeg_of(24, 16, 1, 100);
  CompressedFrames bytes("1.2.840.10008.1.2.4.50", 16, 24, 8), words("1.2.840.10008.1.2.4.50", 16, 24, 8);
  const std::string narrow = decoded(bytes.allocated(8).piece(stream)), wide = decoded(words.piece(stream));
  ASSERT_EQ(wide.size(), 2 * narrow.size());
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    ASSERT_EQ(wide[2 * i], narrow[i]);
    ASSERT_EQ(wide[2 * i + 1], '\0');
  }
}

// A viewer wrote its screen as a JFIF picture, and RGB into the header: teeth were pink. Source of the rule:
// ITU-T T.871, T.872; Pillow and pydicom show these colours.
TEST(DcmtkDecoder, BelievesTheColoursThatAStreamSaysOfItself) {
  const std::string jfif = testing::jpeg_of(24, 16, 3, 100);
  ASSERT_EQ(jfif.substr(6, 4), "JFIF");
  const auto colours_of = [](const std::string& stream) {
    CompressedFrames frames("1.2.840.10008.1.2.4.50", 16, 24, 8);
    return decoded(frames.allocated(8).colours("RGB").piece(stream));
  };
  const std::string pixels = colours_of(jfif);
  for (int pixel = 0; pixel < 24 * 16; ++pixel) {
    for (int channel = 0; channel < 3; ++channel)
      ASSERT_NEAR(static_cast<unsigned char>(pixels[static_cast<std::size_t>(3 * pixel + channel)]),
                  testing::ramp(pixel % 24, pixel / 24, channel), 4);
  }
  const std::string plain = jfif.substr(0, 2) + jfif.substr(2 + 2 + 16);
  EXPECT_NE(colours_of(plain), pixels) << "nobody says that they are YCbCr";
  const std::string adobe(
      "\xff\xee\0\x0e"
      "Adobe\0\x64\0\0\0\0\x01",
      16);
  EXPECT_EQ(colours_of(plain.substr(0, 2) + adobe + plain.substr(2)), pixels);
  std::string as_rgb = adobe;
  as_rgb.back() = 0;
  EXPECT_NE(colours_of(jfif.substr(0, 20) + as_rgb + jfif.substr(20)), pixels);
}

TEST(DcmtkDecoder, TakesWarningsForErrors) {
  const auto values = testing::uneven_values(17, 13, 12);
  std::string stream = testing::encoded_frame(testing::jpeg_lossless, 17, 13, 12, values);
  while (stream.ends_with('\0')) stream.pop_back();
  ASSERT_TRUE(stream.ends_with("\xff\xd9"));
  CompressedFrames frames(testing::jpeg_lossless, 17, 13, 12);
  frames.piece(stream.substr(0, stream.size() / 2) + "\xff\xd9");
  EXPECT_THAT(dcmtk_refusal(frames), HasSubstr("do not fill the picture"));
}

TEST(DcmtkDecoder, RefusesStreamsOfAnotherKind) {
  const auto values = testing::uneven_values(17, 13, 12);
  CompressedFrames frames(testing::jpeg_ls, 17, 13, 12);
  frames.piece(testing::encoded_frame(testing::jpeg_lossless, 17, 13, 12, values));
  EXPECT_THAT(dcmtk_refusal(frames), HasSubstr("not compressed as its transfer syntax"));
}

TEST(DcmtkDecoder, GivesTheSameUnderTwoFillingsOfMemory) {
  for (const char* syntax : {testing::jpeg_lossless, testing::jpeg_ls}) {
    CompressedFrames frames(syntax, 65, 63, 12);
    frames.piece(testing::encoded_frame(syntax, 65, 63, 12, testing::uneven_values(65, 63, 12)));
    mallopt(M_PERTURB, 0x5a);
    const std::string first = decoded(frames);
    mallopt(M_PERTURB, 0xc3);
    const std::string second = decoded(frames);
    mallopt(M_PERTURB, 0);
    EXPECT_TRUE(first == second) << syntax;
  }
}

TEST(DcmtkDecoder, WorksInManyThreads) {
  const CompressedFrames frames = testing::lossless_jpeg(17, 13, 12);
  const std::string expected = testing::as_words(testing::uneven_values(17, 13, 12));
  std::vector<int> same(4);
  {
    std::vector<std::jthread> threads;
    for (int& count : same) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) count += decoded(frames) == expected ? 1 : 0;
      });
    }
  }
  EXPECT_THAT(same, ::testing::Each(50));
}

}  // namespace
}  // namespace larmor
