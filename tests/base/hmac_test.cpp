#include "larmor/base/hmac.h"

#include <string>

#include <gtest/gtest.h>

#include "larmor/base/random_bytes.h"

namespace larmor {
namespace {

std::span<const std::byte> bytes_of(const std::string& words) { return std::as_bytes(std::span(words)); }

TEST(HmacSha256, GivesTheCodesOfRfc4231) {
  EXPECT_EQ(to_hex(hmac_sha256(bytes_of(std::string(20, '\x0b')), {"Hi There"})),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(to_hex(hmac_sha256(bytes_of("Jefe"), {"what do ya want for nothing?"})),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(to_hex(hmac_sha256(bytes_of(std::string(131, '\xaa')),
                               {"Test Using Larger Than Block-Size Key - Hash Key First"})),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(HmacSha256, IsOfThePartsOneBehindTheOther) {
  const std::string key = "key";
  EXPECT_EQ(hmac_sha256(bytes_of(key), {"a", "", "bc"}), hmac_sha256(bytes_of(key), {"abc"}));
  EXPECT_NE(hmac_sha256(bytes_of(key), {"a", "bd"}), hmac_sha256(bytes_of(key), {"abc"}));
  EXPECT_NE(hmac_sha256(bytes_of(key), {"abc"}), hmac_sha256(bytes_of("kez"), {"abc"}));
}

TEST(EqualInConstantTime, ComparesBytesAndLengths) {
  EXPECT_TRUE(equal_in_constant_time("same", "same"));
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_FALSE(equal_in_constant_time("same", "sane"));
  EXPECT_FALSE(equal_in_constant_time("same", "sam"));
}

TEST(Wipe, LeavesNothing) {
  Digest secret{};
  fill_with_random(secret);
  wipe(secret);
  EXPECT_EQ(secret, Digest{});
}

}  // namespace
}  // namespace larmor
