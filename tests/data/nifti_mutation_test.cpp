// Some thousands of spoilt files: the reader must refuse each with an Error, or read it, and do nothing
// else. The same target runs for as long as one likes under libFuzzer (tests/fuzz).
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/seed.h"
#include "larmor/data/gzip.h"
#include "larmor/data/nifti.h"

#include "tests/data/support/image_files.h"

namespace larmor {
namespace {

using testing::as_bytes;
using testing::NiftiBytes;

std::vector<std::string> seeds() {
  std::vector<std::string> files;
  for (const int version : {1, 2}) {
    for (const bool big_endian : {false, true}) files.push_back(NiftiBytes(version, big_endian).whole());
  }
  NiftiBytes forms;
  forms.put(252, int16_t{1}).put(254, int16_t{2}).put(280, 1.5F).put(300, 2.0F).put(320, 3.0F).put(256, 0.5F);
  forms.extension = std::string("\x01\0\0\0", 4) + testing::laid_out(int32_t{16}) + std::string(12, '\0');
  files.push_back(forms.put(108, 368.0F).whole());
  files.push_back(NiftiBytes().put(344, int32_t{0}).whole());  // Analyze
  return files;
}

std::string mutated(std::string bytes, Draws& draws) {
  const auto place = [&] { return draws.below(bytes.size()); };
  for (uint64_t change = 0; change <= draws.below(4); ++change) {
    switch (draws.below(5)) {
      case 0:
        bytes[place()] ^= static_cast<char>(1 << draws.below(8));
        break;
      case 1:
        bytes[place()] = static_cast<char>(draws.below(256));
        break;
      case 2:
        bytes.resize(1 + place());
        break;
      case 3:
        bytes[place()] = draws.below(2) != 0 ? '\x7f' : '\xff';
        break;
      default: {
        // Words that break arithmetic, on the boundaries where fields lie.
        const uint64_t words[] = {0, ~uint64_t{0}, uint64_t{1} << 63, 0x7fffffff7fffffff, 0x7fc000007fc00000};
        const std::string word =
            testing::laid_out(words[draws.below(5)]).substr(0, std::size_t{2} << draws.below(3));
        const std::size_t at = place() / 2 * 2;
        if (at + word.size() <= bytes.size()) bytes.replace(at, word.size(), word);
      }
    }
  }
  return bytes;
}

TEST(NiftiMutations, AreRefusedOrReadAndNothingElse) {
  const std::vector<std::string> files = seeds();
  Draws draws(make_key(1, 0, 0, "mutations"));
  int accepted = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string bytes = mutated(files[static_cast<std::size_t>(round) % files.size()], draws);
    try {
      const NiftiHeader header = parse_nifti_header(as_bytes(bytes), "mutated");
      ++accepted;
      ASSERT_LE(checked_bytes(header.shape, 1), largest_voxels);
      ASSERT_TRUE(is_finite(header.affine));
    } catch (const Error& error) {
      ++refused;
      ASSERT_EQ(error.exit(), Exit::data);
    }
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(GzipMutations, AreRefusedOrReadAndNothingElse) {
  const std::string file = testing::packed(NiftiBytes().whole());
  Draws draws(make_key(2, 0, 0, "mutations"));
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    const std::string bytes = mutated(file, draws);
    try {
      ASSERT_LE(gunzip(as_bytes(bytes)).bytes.size(), InflateLimits{}.largest(bytes.size()));
    } catch (const Error& error) {
      ++refused;
      ASSERT_EQ(error.exit(), Exit::data);
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace larmor
