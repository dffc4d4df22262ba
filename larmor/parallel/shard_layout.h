// How a flat buffer of parameters is cut between ranks: evenly, wherever that falls. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "larmor/parallel/buckets.h"

namespace larmor {

/// A stretch of one member that one rank owns.
struct Piece {
  size_t member = 0;             // place within the bucket
  int64_t first = 0, count = 0;  // elements of the member
  int64_t place = 0;             // of its first element, in the rank's shard
};

/// Tensors in the order given, in one bucket.
Bucket one_bucket(const std::vector<TensorSize>& tensors);

/// Lengthens the bucket so that every rank's shard is as long, and aligned.
void pad_for_ranks(Bucket& bucket, int ranks);

/// What `rank` owns of a padded bucket whose member i has sizes[i] elements; together the ranks own every
/// element once.
std::vector<Piece> pieces_of(const Bucket& bucket, const std::vector<int64_t>& sizes, int rank, int ranks);

}  // namespace larmor
