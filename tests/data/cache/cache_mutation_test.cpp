// Thousands of spoilt entries, half of them with hashes that fit again, so that what lies behind the hash is
// tried too: each is refused with an Error, or read, and nothing else happens.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/seed.h"
#include "larmor/data/cache/cache_entry.h"

#include "tests/support/image_files.h"

namespace larmor {
namespace {

std::string sound_entry() {
  const at::Tensor voxels = at::arange(2 * 40 * 3 * 5, at::kFloat).reshape({2, 40, 3, 5});
  const Bytes bytes = encode_cache_entry(
      std::string(64, 'k'),
      {{"image", {voxels, identity_affine()}}, {"label", {voxels.remainder(2), identity_affine()}}});
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

uint64_t number_at(const std::string& bytes, std::size_t at) {
  uint64_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

void spoil(std::string& bytes, std::size_t header, Draws& draws) {
  for (uint64_t change = 0; change <= draws.below(3); ++change) {
    const std::size_t place = draws.below(draws.below(4) != 0 ? header : bytes.size());
    const uint64_t words[] = {
        0, 1, ~uint64_t{0}, uint64_t{1} << 63, 0x7fffffffffffffff, uint64_t{1} << 32, draws.below(4096)};
    if (draws.below(2) != 0) {
      bytes[place] ^= static_cast<char>(1 << draws.below(8));
    } else {
      const std::string word =
          testing::published(words[draws.below(7)]).substr(0, std::size_t{4} << draws.below(2));
      const std::size_t at = place / 4 * 4;
      if (at + word.size() <= bytes.size()) bytes.replace(at, word.size(), word);
    }
  }
  if (draws.below(8) == 0) bytes.resize(1 + draws.below(bytes.size()));
}

void mend_hash(std::string& bytes) {
  if (bytes.size() < 104) return;
  const uint64_t header = number_at(bytes, 16);
  if (header < 104 || header > bytes.size()) return;
  const uint64_t hash = fast_hash(std::string_view(bytes).substr(0, header - 8));
  std::memcpy(bytes.data() + header - 8, &hash, sizeof(hash));
}

TEST(CacheEntryMutations, AreRefusedOrReadAndNothingElse) {
  const std::string sound = sound_entry();
  const auto header = static_cast<std::size_t>(number_at(sound, 16));
  Draws draws(make_key(3, 0, 0, "mutations"));
  int opened = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = sound;
    spoil(bytes, header, draws);
    if (round % 2 != 0) mend_hash(bytes);
    try {
      const CacheEntry entry = CacheEntry::of(testing::as_bytes(bytes));
      ++opened;
      for (const std::string& name : entry.names())
        ASSERT_LE(entry.read(name).voxels.nbytes(), 4 * bytes.size());
    } catch (const Error& error) {
      ++refused;
      ASSERT_EQ(error.exit(), Exit::data);
    }
  }
  EXPECT_GT(opened, 500);
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace larmor
