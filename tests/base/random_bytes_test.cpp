#include "larmor/base/random_bytes.h"

#include <array>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(FillWithRandom, GivesOtherBytesEachTime) {
  std::set<std::string> drawn;
  for (int i = 0; i < 100; ++i) {
    std::array<std::byte, 32> bytes{};
    fill_with_random(bytes);
    drawn.insert(to_hex(bytes));
  }
  EXPECT_EQ(drawn.size(), 100U);
}

TEST(ToHex, GivesTwoDigitsAByte) {
  EXPECT_EQ(to_hex(std::array{std::byte{0x00}, std::byte{0x0f}, std::byte{0xa5}, std::byte{0xff}}),
            "000fa5ff");
  EXPECT_EQ(to_hex({}), "");
}

TEST(RandomName, IsOfSixteenDigitsAndAnotherEachTime) {
  const auto name = random_name();
  EXPECT_THAT(name, ::testing::MatchesRegex("[0-9a-f]{16}"));
  EXPECT_NE(random_name(), name);
}

}  // namespace
}  // namespace larmor
