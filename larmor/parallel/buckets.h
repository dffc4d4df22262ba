// Which gradients travel together: a pure function of the parameters' sizes, so that every rank and
// every resumed run cuts alike.
#pragma once

#include <cstdint>
#include <vector>

#include <c10/core/ScalarType.h>

namespace larmor {

/// The size of a bucket, where the plan leaves it open.
constexpr int64_t bucket_bytes_by_default = int64_t{25} << 20;

struct TensorSize {
  int64_t elements = 0;
  c10::ScalarType type = c10::ScalarType::Float;
};

/// One flat buffer.
struct Bucket {
  std::vector<size_t> members;   // indices of parameters
  std::vector<int64_t> offsets;  // of each member, in elements; aligned for vector instructions
  int64_t elements = 0;          // padding included
  c10::ScalarType type = c10::ScalarType::Float;
};

/// Cuts tensors of one device into buckets of about `bucket_bytes`, last tensor first, because backward
/// finishes the last layers' gradients first. A tensor is never split; a bucket holds one type.
std::vector<Bucket> cut_buckets(const std::vector<TensorSize>& tensors, int64_t bucket_bytes);

}  // namespace larmor
