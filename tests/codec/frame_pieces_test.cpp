#include "larmor/codec/frame_pieces.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/codec/support/compressed_frames.h"
#include "tests/support/cases.h"

namespace larmor {
namespace {

using testing::CompressedFrames;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const std::string start = "\xff\xd8\xff\xc0", rest = "abcdef";

std::vector<std::pair<std::size_t, std::size_t>> pieces_of(const CompressedFrames& frames) {
  std::vector<std::pair<std::size_t, std::size_t>> all;
  for (const FramePieces pieces : find_frame_pieces(frames.encoded()))
    all.emplace_back(pieces.begin, pieces.end);
  return all;
}

CompressedFrames four_pieces(const char* syntax) {
  CompressedFrames frames(syntax, 1, 1, 8);
  frames.piece(start).piece(rest).piece(start).piece(rest);
  return frames;
}

TEST(FramePieces, AreOneAFrameWhereTheNumbersFit) {
  EXPECT_THAT(pieces_of(four_pieces(rle_lossless_syntax)),
              ElementsAre(Pair(1, 2), Pair(2, 3), Pair(3, 4), Pair(4, 5)));
}

TEST(FramePieces, AllBelongToASingleFrame) {
  CompressedFrames frames = four_pieces(rle_lossless_syntax);
  EXPECT_THAT(pieces_of(frames.frames(1)), ElementsAre(Pair(1, 5)));
  std::vector<std::byte> joined;
  EXPECT_EQ(join_pieces(frames.encoded(), {1, 5}, joined).size(), 20U);
  EXPECT_EQ(join_pieces(frames.encoded(), {2, 3}, joined).size(), 6U);
}

TEST(FramePieces, FollowTheTableOfOffsets) {
  CompressedFrames frames = four_pieces(rle_lossless_syntax);
  frames.frames(2).table({0, 12 + 14 + 12});
  EXPECT_THAT(pieces_of(frames), ElementsAre(Pair(1, 4), Pair(4, 5)));
}

TEST(FramePieces, BeginWhereAStreamBegins) {
  CompressedFrames frames = four_pieces(testing::jpeg_lossless);
  EXPECT_THAT(pieces_of(frames.frames(2)), ElementsAre(Pair(1, 3), Pair(3, 5)));
  EXPECT_THAT(pieces_of(frames.table({0, 13})), ElementsAre(Pair(1, 3), Pair(3, 5)))
      << "the table names no piece";
}

TEST(FramePieces, AreRefusedWhereTheyCannotBeToldApart) {
  const auto refusal = [](CompressedFrames frames, int count) {
    frames.frames(count);
    const auto error = testing::error_of([&] { find_frame_pieces(frames.encoded()); });
    return error ? error->message() : "";
  };
  EXPECT_THAT(refusal(four_pieces(rle_lossless_syntax), 2), HasSubstr("which belong together"));
  EXPECT_THAT(refusal(four_pieces(testing::jpeg_lossless), 3), HasSubstr("which belong together"));
  EXPECT_THAT(refusal(four_pieces(testing::jpeg_lossless), 5), HasSubstr("claims 5 frames"));
}

}  // namespace
}  // namespace larmor
