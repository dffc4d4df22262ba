#include "larmor/parallel/buckets.h"

#include <gtest/gtest.h>

namespace larmor {
namespace {

using Members = std::vector<size_t>;
constexpr auto float32 = c10::ScalarType::Float;

TEST(CutBuckets, TakesTheLastParametersFirst) {
  // 16 floats are the 64 bytes that a member is padded to.
  const std::vector<Bucket> buckets = cut_buckets({{16}, {32}, {16}, {48}}, 256);
  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_EQ(buckets[0].members, (Members{3, 2}));
  EXPECT_EQ(buckets[1].members, (Members{1, 0}));
  EXPECT_EQ(buckets[0].offsets, (std::vector<int64_t>{0, 48}));
  EXPECT_EQ(buckets[0].elements, 64);
}

TEST(CutBuckets, AlignsMembers) {
  const std::vector<Bucket> buckets = cut_buckets({{1}, {17}, {3, c10::ScalarType::Double}}, 1 << 20);
  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_EQ(buckets[0].elements, 8) << "eight doubles are 64 bytes";
  EXPECT_EQ(buckets[1].offsets, (std::vector<int64_t>{0, 32}));
  EXPECT_EQ(buckets[1].elements, 48);
}

TEST(CutBuckets, GivesATensorLargerThanABucketOneOfItsOwn) {
  const std::vector<Bucket> buckets = cut_buckets({{16}, {1000}, {16}}, 128);
  ASSERT_EQ(buckets.size(), 3U);
  EXPECT_EQ(buckets[1].members, (Members{1}));
  EXPECT_EQ(buckets[1].elements, 1008);
}

TEST(CutBuckets, NeverMixesTypes) {
  const std::vector<Bucket> buckets =
      cut_buckets({{4, float32}, {4, c10::ScalarType::Long}, {4, float32}}, 1 << 20);
  ASSERT_EQ(buckets.size(), 3U);
  EXPECT_EQ(buckets[1].type, c10::ScalarType::Long);
}

TEST(CutBuckets, HoldsEveryTensorOnceWhateverTheSize) {
  std::vector<TensorSize> tensors;
  for (int64_t i = 0; i < 40; ++i) tensors.push_back({1 + i * i % 37});
  for (const int64_t bytes : {0, 1, 300, 4096, 1 << 30}) {
    Members all;
    for (const Bucket& bucket : cut_buckets(tensors, bytes)) {
      all.insert(all.end(), bucket.members.begin(), bucket.members.end());
    }
    ASSERT_EQ(all.size(), tensors.size());
    for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], tensors.size() - 1 - i);
  }
  EXPECT_TRUE(cut_buckets({}, 100).empty());
}

}  // namespace
}  // namespace larmor
