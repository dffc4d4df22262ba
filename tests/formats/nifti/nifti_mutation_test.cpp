// Some thousands of spoilt files: the reader must refuse each with an Error, or read it, and do nothing
// else. The same target runs for as long as one likes under libFuzzer (tests/fuzz).
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/seed.h"
#include "larmor/formats/gzip.h"
#include "larmor/formats/nifti/nifti.h"

#include "tests/support/image_files.h"
#include "tests/support/mutation.h"
#include "tests/support/seeds.h"

namespace larmor {
namespace {

using testing::as_bytes;
using testing::mutated;
using testing::NiftiBytes;

TEST(NiftiMutations, AreRefusedOrReadAndNothingElse) {
  const std::vector<std::string> files = testing::seeds().at("nifti");
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
