#include "larmor/parallel/shard_layout.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace larmor {
namespace {

constexpr int64_t shard_alignment = 16;  // elements

}  // namespace

Bucket one_bucket(const std::vector<TensorSize>& tensors) {
  // cut_buckets() begins with the last.
  std::vector<TensorSize> reversed(tensors.rbegin(), tensors.rend());
  std::vector<Bucket> cut = cut_buckets(reversed, std::numeric_limits<int64_t>::max());
  assert(cut.size() == 1 && "parameters of one type");
  for (size_t& member : cut.front().members) member = tensors.size() - 1 - member;
  return cut.front();
}

void pad_for_ranks(Bucket& bucket, int ranks) {
  const int64_t step = shard_alignment * ranks;
  bucket.elements = (bucket.elements + step - 1) / step * step;
}

std::vector<Piece> pieces_of(const Bucket& bucket, const std::vector<int64_t>& sizes, int rank, int ranks) {
  assert(bucket.elements % ranks == 0 && sizes.size() == bucket.members.size());
  const int64_t shard = bucket.elements / ranks, begin = rank * shard, end = begin + shard;
  std::vector<Piece> pieces;
  for (size_t member = 0; member < sizes.size(); ++member) {
    const int64_t from = std::max(begin, bucket.offsets[member]);
    const int64_t to = std::min(end, bucket.offsets[member] + sizes[member]);
    if (from >= to) continue;
    pieces.push_back({.member = member,
                      .first = from - bucket.offsets[member],
                      .count = to - from,
                      .place = from - begin});
  }
  return pieces;
}

}  // namespace larmor
