#include "larmor/base/hash.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

namespace larmor {
namespace {

// FIPS 180-4 examples.
constexpr const char* hash_of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* hash_of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* hash_of_a_million = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(sha256("abc"), hash_of_abc);
  EXPECT_EQ(sha256(""), hash_of_nothing);
}

TEST(Sha256, DoesNotDependOnHowTheBytesAreCut) {
  Sha256 hash;
  for (int i = 0; i < 1000; ++i) hash.update(std::string(1000, 'a'));
  EXPECT_EQ(hash.hex(), hash_of_a_million);
}

TEST(Sha256OfFile, ReadsFilesLargerThanItsBuffer) {
  const ScratchFolder scratch;
  const std::string content(3'000'001, 'x');
  std::ofstream(scratch.path() / "large") << content;
  EXPECT_EQ(sha256_of_file(scratch.path() / "large"), sha256(content));
}

TEST(Sha256OfFile, ThrowsForWhatCannotBeRead) {
  const ScratchFolder scratch;
  EXPECT_THROW(sha256_of_file(scratch.path() / "absent"), Error);
  EXPECT_THROW(sha256_of_file(scratch.path()), Error);
}

TEST(FastHash, IsXxh3SoThatStoredHashesStayTrue) {
  EXPECT_EQ(fast_hash(""), 0x2D06800538D394C2U);
  EXPECT_NE(fast_hash("crop"), fast_hash("flip"));
}

}  // namespace
}  // namespace larmor
