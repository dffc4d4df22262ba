#include "larmor/net/sealed_frames.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Digest key_of(char letter) {
  Digest key;
  key.fill(static_cast<std::byte>(letter));
  return key;
}

TEST(SealedFrames, ComeOutAsTheyWentIn) {
  FrameWriter writer(key_of('a'));
  FrameReader reader(key_of('a'));
  const std::string binary("\0\xff\n{", 4);
  std::string frames = writer.seal("one");
  frames += writer.seal("");
  frames += writer.seal(binary);
  EXPECT_THAT(reader.open(frames), ElementsAre("one", "", binary));
  const auto last = writer.seal("last");
  for (size_t i = 0; i + 1 < last.size(); ++i) EXPECT_THAT(reader.open(last.substr(i, 1)), IsEmpty());
  EXPECT_THAT(reader.open(last.substr(last.size() - 1)), ElementsAre("last"));
  EXPECT_FALSE(reader.is_broken());
}

TEST(SealedFrames, BreakAtAnyBitThatIsChanged) {
  const auto frame = FrameWriter(key_of('a')).seal("message");
  for (size_t bit = 0; bit < 8 * frame.size(); ++bit) {
    auto changed = frame;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    FrameReader reader(key_of('a'));
    EXPECT_THAT(reader.open(changed), IsEmpty()) << bit;
    // A length that is too long by less than the limit is found out when so much has come.
    EXPECT_THAT(reader.open(std::string(longest_frame, 'x')), IsEmpty()) << bit;
    EXPECT_TRUE(reader.is_broken()) << bit;
  }
}

TEST(SealedFrames, BreakWhenOneIsRepeatedLeftOutOrReordered) {
  for (const auto& order : {std::vector<int>{0, 0}, {1}, {0, 2}, {1, 0, 2}, {0, 1, 1}}) {
    FrameWriter writer(key_of('a'));
    const std::vector<std::string> frames{writer.seal("0"), writer.seal("1"), writer.seal("2")};
    FrameReader reader(key_of('a'));
    std::string opened;
    for (const int number : order) {
      for (const auto& message : reader.open(frames[static_cast<size_t>(number)])) opened += message;
    }
    EXPECT_TRUE(reader.is_broken());
    EXPECT_TRUE(std::string("012").starts_with(opened)) << opened;
  }
}

TEST(SealedFrames, BreakUnderAnotherKey) {
  FrameReader reader(key_of('b'));
  EXPECT_THAT(reader.open(FrameWriter(key_of('a')).seal("message")), IsEmpty());
  EXPECT_TRUE(reader.is_broken());
  EXPECT_THAT(reader.open(FrameWriter(key_of('b')).seal("message")), IsEmpty()) << "for good";
}

TEST(SealedFrames, BreakAtALengthThatNoneHasBeforeItHasCome) {
  FrameReader reader(key_of('a'));
  EXPECT_THAT(reader.open(std::string("\x00\x40\x00\x01", 4)), IsEmpty());
  EXPECT_TRUE(reader.is_broken());
  FrameReader whole(key_of('a'));
  EXPECT_THAT(whole.open(FrameWriter(key_of('a')).seal(std::string(longest_frame, 'x'))),
              ElementsAre(std::string(longest_frame, 'x')));
}

}  // namespace
}  // namespace larmor
