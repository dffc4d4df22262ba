#include "larmor/parallel/buckets.h"

namespace larmor {
namespace {

constexpr int64_t alignment_bytes = 64;

int64_t padded(int64_t elements, int64_t element_bytes) {
  const int64_t step = alignment_bytes / element_bytes;
  return (elements + step - 1) / step * step;
}

}  // namespace

std::vector<Bucket> cut_buckets(const std::vector<TensorSize>& tensors, int64_t bucket_bytes) {
  std::vector<Bucket> buckets;
  for (size_t left = tensors.size(); left > 0; --left) {
    const TensorSize& tensor = tensors[left - 1];
    const auto element_bytes = static_cast<int64_t>(c10::elementSize(tensor.type));
    const int64_t elements = padded(tensor.elements, element_bytes);
    const bool fits = !buckets.empty() && buckets.back().type == tensor.type &&
                      (buckets.back().elements + elements) * element_bytes <= bucket_bytes;
    if (!fits) buckets.push_back({.members = {}, .offsets = {}, .elements = 0, .type = tensor.type});
    Bucket& bucket = buckets.back();
    bucket.members.push_back(left - 1);
    bucket.offsets.push_back(bucket.elements);
    bucket.elements += elements;
  }
  return buckets;
}

}  // namespace larmor
