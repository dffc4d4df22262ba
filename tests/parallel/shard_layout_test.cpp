#include "larmor/parallel/shard_layout.h"

#include <random>

#include <gtest/gtest.h>

namespace larmor {
namespace {

std::vector<int64_t> sizes_in_order(const Bucket& bucket, const std::vector<TensorSize>& tensors) {
  std::vector<int64_t> sizes;
  for (const size_t member : bucket.members) sizes.push_back(tensors[member].elements);
  return sizes;
}

TEST(OneBucket, KeepsTheOrder) {
  const Bucket bucket = one_bucket({{5}, {16}, {1}});
  EXPECT_EQ(bucket.members, (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(bucket.offsets, (std::vector<int64_t>{0, 16, 32}));
  EXPECT_EQ(bucket.elements, 48);
}

TEST(PiecesOf, OwnEveryElementOnceWhateverTheSizes) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<TensorSize> tensors(1 + random() % 9);
    for (TensorSize& tensor : tensors) tensor.elements = 1 + static_cast<int64_t>(random() % 300);
    const int ranks = 1 + static_cast<int>(random() % 8);
    Bucket bucket = one_bucket(tensors);
    pad_for_ranks(bucket, ranks);
    ASSERT_EQ(bucket.elements % ranks, 0);
    const std::vector<int64_t> sizes = sizes_in_order(bucket, tensors);
    std::vector<std::vector<int>> owners;
    for (const int64_t size : sizes) owners.emplace_back(static_cast<size_t>(size));
    for (int rank = 0; rank < ranks; ++rank) {
      int64_t last_end = 0;
      for (const Piece& piece : pieces_of(bucket, sizes, rank, ranks)) {
        EXPECT_GE(piece.place, last_end) << "pieces overlap in the shard";
        last_end = piece.place + piece.count;
        EXPECT_LE(last_end, bucket.elements / ranks);
        for (int64_t i = 0; i < piece.count; ++i)
          owners[piece.member][static_cast<size_t>(piece.first + i)] += 1;
      }
    }
    for (const auto& member : owners) {
      for (const int count : member) ASSERT_EQ(count, 1);
    }
  }
}

}  // namespace
}  // namespace larmor
