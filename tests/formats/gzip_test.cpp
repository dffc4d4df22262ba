#include "larmor/formats/gzip.h"

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
  bytes.replace(bytes.size() - 4, 4, testing::laid_out(uint32_t{0xfffffff0}));
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

}  // namespace
}  // namespace larmor
