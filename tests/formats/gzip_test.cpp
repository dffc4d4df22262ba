#include "larmor/formats/gzip.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/support/image_files.h"

namespace larmor {
namespace {

using testing::as_bytes;
using testing::packed;

std::string unpacked(const std::string& bytes, const InflateLimits& limits = {}) {
  const Gunzipped result = gunzip(as_bytes(bytes), limits);
  return {reinterpret_cast<const char*>(result.bytes.data()), result.bytes.size()};
}

std::string noise(std::size_t size) {
  std::string bytes(size, '\0');
  uint32_t state = 1;
  for (char& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

TEST(Gzip, GivesBackWhatWasPacked) {
  for (const std::size_t size : {0U, 1U, 1000U, 300000U}) {
    EXPECT_EQ(unpacked(packed(noise(size))), noise(size));
    EXPECT_EQ(unpacked(packed(std::string(size, 'x'))), std::string(size, 'x'));
  }
}

TEST(Gzip, PacksEqualBytesEqually) { EXPECT_EQ(packed(noise(5000)), packed(noise(5000))); }

TEST(Gzip, ReadsAllMembersOneAfterTheOther) {
  const std::string large(200000, 'a');
  EXPECT_EQ(unpacked(packed(large) + packed("b") + packed("") + packed(noise(70000))),
            large + "b" + noise(70000));
}

TEST(Gzip, TreatsTheLengthInTheTrailerAsAHintOnly) {
  const std::string plain = noise(50000);
  std::string bytes = packed(plain) + packed("tail");  // the last member's length is 4
  EXPECT_EQ(unpacked(bytes), plain + "tail");
}

TEST(Gzip, RefusesALengthInTheTrailerThatIsWrong) {
  std::string bytes = packed(noise(50000));
  bytes.replace(bytes.size() - 4, 4, testing::published(uint32_t{0xfffffff0}));
  EXPECT_THROW(unpacked(bytes), Error);
}

TEST(Gzip, IgnoresZerosBehindAndCountsAnythingElse) {
  EXPECT_EQ(gunzip(as_bytes(packed("image") + std::string(512, '\0'))).ignored, 0U);
  EXPECT_EQ(gunzip(as_bytes(packed("image") + "rubbish")).ignored, 7U);
}

TEST(Gzip, StopsABombAtItsLimitWithoutTakingTheMemoryItClaims) {
  const std::string bomb = packed(std::string(std::size_t{8} << 20, '\0'));
  InflateLimits limits;
  limits.ratio_free = std::size_t{1} << 20;
  limits.ratio = 10;
  ASSERT_LT(bomb.size(), 20000U);
  EXPECT_THROW(unpacked(bomb, limits), Error);
  limits.ratio = 2000;
  EXPECT_EQ(unpacked(bomb, limits).size(), std::size_t{8} << 20);
  limits.bytes = (std::size_t{8} << 20) - 1;
  EXPECT_THROW(unpacked(bomb, limits), Error);
}

TEST(Gzip, CountsTheMembersOfABombTogether) {
  std::string bomb;
  for (int i = 0; i < 20; ++i) bomb += packed(std::string(100000, '\0'));
  InflateLimits limits;
  limits.ratio_free = 1000000;
  limits.ratio = 1;
  EXPECT_THROW(unpacked(bomb, limits), Error);
}

TEST(Gzip, GoesBeyondItsLimitForTheVoxelsThatAHeaderClaims) {
  const std::string image = "header" + std::string(50000, '\0'), bomb = packed(image);
  const InflateLimits limits{.bytes = 60000, .ratio = 1, .ratio_free = 1000};
  EXPECT_THROW(unpacked(bomb, limits), Error);
  std::string seen;
  const auto claim = [&](uint64_t voxels) {
    return [&seen, voxels](std::span<const std::byte> beginning) {
      seen.assign(reinterpret_cast<const char*>(beginning.data()), beginning.size());
      return voxels;
    };
  };
  EXPECT_EQ(gunzip(as_bytes(bomb), limits, claim(50000)).bytes.size(), image.size());
  EXPECT_EQ(seen.substr(0, 700), image.substr(0, 700));
  EXPECT_THROW(gunzip(as_bytes(bomb), limits, claim(49000)), Error) << "one byte more than claim and limit";
  EXPECT_THROW(gunzip(as_bytes(bomb), limits, claim(0)), Error);
  const InflateLimits lower{.bytes = 50000, .ratio = 1, .ratio_free = 1000};
  EXPECT_THROW(gunzip(as_bytes(bomb), lower, claim(~uint64_t{0})), Error) << "whatever is claimed";
}

TEST(Gzip, ShowsTheBeginningOfWhatIsCutShort) {
  for (const std::string& plain : {noise(400000), std::string(400000, 'x')}) {
    const std::string bytes = packed(plain).substr(0, 196608);
    const Bytes beginning = gunzip_beginning(as_bytes(bytes), 131072);
    ASSERT_GE(beginning.size(), 65536U);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(beginning.data()), 65000), plain.substr(0, 65000));
  }
  EXPECT_EQ(gunzip_beginning(as_bytes(packed("short")), 256).size(), 5U);
  EXPECT_EQ(gunzip_beginning(as_bytes("no gzip at all, but long enough"), 256).size(), 0U);
}

// Blocks that are stored plainly are written whole or not at all.
TEST(Gzip, ShowsZerosForWhatWasNotUnpacked) {
  const Bytes beginning = gunzip_beginning(as_bytes(packed(noise(60000))), 256);
  EXPECT_TRUE(std::all_of(beginning.data(), beginning.data() + beginning.size(),
                          [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST(Gzip, RefusesEveryTruncation) {
  const std::string bytes = packed("a volume of some voxels, a volume of some voxels");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(unpacked(bytes.substr(0, size)), Error) << size;
  }
}

TEST(Gzip, RefusesChangedContent) {
  std::string bytes = packed(noise(1000));
  bytes[500] = static_cast<char>(bytes[500] ^ 1);
  EXPECT_THROW(unpacked(bytes), Error);
}

TEST(Inflate, GivesExactlyWhatIsClaimedOrNothing) {
  const std::string member = packed("exactly this");
  const auto deflated = as_bytes(member).subspan(10, member.size() - 18);
  EXPECT_EQ(inflate(deflated, 12).size(), 12U);
  EXPECT_THROW(inflate(deflated, 11), Error);
  EXPECT_THROW(inflate(deflated, 13), Error);
}

TEST(Inflate, LeavesRoomInFrontAndStopsAtItsLimit) {
  const std::string member = packed(std::string(100000, 'x'));
  const auto deflated = as_bytes(member).subspan(10, member.size() - 18);
  const Bytes plain = inflate(deflated, InflateLimits{}, 7);
  ASSERT_EQ(plain.size(), 100007U);
  EXPECT_EQ(plain.view()[7], std::byte{'x'});
  EXPECT_EQ(plain.view()[100006], std::byte{'x'});
  EXPECT_THROW(inflate(deflated, InflateLimits{.bytes = 99999}, 7), Error);
}

}  // namespace
}  // namespace larmor
