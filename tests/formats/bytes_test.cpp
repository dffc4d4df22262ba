#include "larmor/formats/bytes.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace larmor {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Pages of the first `size` bytes that lie in memory.
std::size_t pages_there(Bytes& bytes, std::size_t size) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = (std::bit_cast<std::uintptr_t>(bytes.data()) + page - 1) / page * page;
  std::vector<unsigned char> there(size / page);
  EXPECT_EQ(::mincore(std::bit_cast<void*>(begin), size, there.data()), 0);
  return static_cast<std::size_t>(
      std::count_if(there.begin(), there.end(), [](auto flags) { return (flags & 1) != 0; }));
}

TEST(Bytes, KeepWhatTheyHoldWhenTheyGrow) {
  for (const std::size_t larger : {200U, 300000U, 40000000U}) {
    Bytes bytes(100);
    std::memset(bytes.data(), 7, 100);
    bytes.grow(larger);
    ASSERT_EQ(bytes.size(), larger);
    EXPECT_EQ(std::count(bytes.data(), bytes.data() + 100, std::byte{7}), 100);
    bytes.data()[larger - 1] = std::byte{1};
  }
}

TEST(Bytes, GrowIntoWhatTheyWereShortenedBy) {
  Bytes bytes(100);
  const std::byte* const place = bytes.data();
  bytes.shorten(10);
  bytes.grow(50);
  EXPECT_EQ(bytes.data(), place);
  EXPECT_EQ(bytes.size(), 50U);
}

TEST(Bytes, GiveBackWhatIsReadAndNothingElse) {
  Bytes bytes(64 * mebibyte);
  std::memset(bytes.data(), 1, 16 * mebibyte);
  const std::size_t before = pages_there(bytes, 8 * mebibyte);
  bytes.release_before(8 * mebibyte);
  EXPECT_LT(pages_there(bytes, 8 * mebibyte), before / 50);
  const auto rest = bytes.view().subspan(8 * mebibyte, 8 * mebibyte);
  EXPECT_TRUE(std::all_of(rest.begin(), rest.end(), [](std::byte byte) { return byte == std::byte{1}; }));
}

TEST(Bytes, OfAnOrdinaryFileStayUntilTheyEnd) {
  Bytes bytes(8 * mebibyte);
  std::memset(bytes.data(), 1, bytes.size());
  bytes.release_before(bytes.size());
  EXPECT_EQ(bytes.data()[0], std::byte{1});
  EXPECT_EQ(bytes.data()[bytes.size() - 1], std::byte{1});
}

}  // namespace
}  // namespace larmor
