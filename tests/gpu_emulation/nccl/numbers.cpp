#include "tests/gpu_emulation/nccl/numbers.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <type_traits>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

namespace emulated {
namespace {

template <class Number>
constexpr bool is_narrow = std::is_same_v<Number, c10::Half> || std::is_same_v<Number, c10::BFloat16>;

template <class Number>
Number combine(ncclRedOp_t operation, Number a, Number b) {
  switch (operation) {
    case ncclProd:
      return static_cast<Number>(a * b);
    case ncclMax:
      return std::max(a, b);
    case ncclMin:
      return std::min(a, b);
    default:
      return static_cast<Number>(a + b);
  }
}

template <class Number>
void reduce_as(ncclRedOp_t operation, const std::vector<const void*>& parts, void* to, size_t count) {
  using Sum = std::conditional_t<is_narrow<Number>, float, Number>;
  for (size_t i = 0; i < count; ++i) {
    auto all = static_cast<Sum>(static_cast<const Number*>(parts.front())[i]);
    for (size_t rank = 1; rank < parts.size(); ++rank) {
      all = combine(operation, all, static_cast<Sum>(static_cast<const Number*>(parts[rank])[i]));
    }
    static_cast<Number*>(to)[i] = static_cast<Number>(all);
  }
}

}  // namespace

size_t width_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

bool is_emulated(ncclRedOp_t operation) {
  return operation == ncclSum || operation == ncclProd || operation == ncclMax || operation == ncclMin;
}

std::vector<Stretch> sums_of(size_t first, size_t count, const Whole& whole) {
  const char* const asked = std::getenv("EMULATED_NCCL_SUMS");
  std::vector<size_t> order(whole.ranks);
  std::iota(order.begin(), order.end(), size_t{0});
  if (asked == nullptr || std::string_view(asked) != "ring") return {{0, count, order}};
  const auto in_whole = [](size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; };
  // Gloo cuts the whole into segments of at most this size, as many for each rank. Those of rank g are begun
  // by the rank before it and go round downwards.
  constexpr size_t largest_segment = size_t{1} << 20;
  const size_t bytes = whole.count * whole.width;
  const size_t least = std::max((bytes + largest_segment - 1) / largest_segment, 2 * whole.ranks);
  const size_t segments = in_whole(least, whole.ranks);
  const size_t segment = in_whole((bytes + segments - 1) / segments, whole.width);
  const size_t of_rank = segments / whole.ranks * segment / whole.width;
  std::vector<Stretch> all;
  for (size_t i = first; i < first + count;) {
    const size_t rank = i / of_rank, end = std::min(first + count, (rank + 1) * of_rank);
    for (size_t step = 0; step < whole.ranks; ++step)
      order[step] = (rank + 2 * whole.ranks - 1 - step) % whole.ranks;
    all.push_back({i - first, end - first, order});
    i = end;
  }
  return all;
}

void reduce(ncclDataType_t type, ncclRedOp_t operation, const std::vector<const void*>& parts, void* to,
            size_t count) {
  switch (type) {
    case ncclInt8:
      return reduce_as<int8_t>(operation, parts, to, count);
    case ncclUint8:
      return reduce_as<uint8_t>(operation, parts, to, count);
    case ncclInt32:
      return reduce_as<int32_t>(operation, parts, to, count);
    case ncclUint32:
      return reduce_as<uint32_t>(operation, parts, to, count);
    case ncclInt64:
      return reduce_as<int64_t>(operation, parts, to, count);
    case ncclUint64:
      return reduce_as<uint64_t>(operation, parts, to, count);
    case ncclFloat16:
      return reduce_as<c10::Half>(operation, parts, to, count);
    case ncclBfloat16:
      return reduce_as<c10::BFloat16>(operation, parts, to, count);
    case ncclFloat32:
      return reduce_as<float>(operation, parts, to, count);
    case ncclFloat64:
      return reduce_as<double>(operation, parts, to, count);
    default:
      return;
  }
}

}  // namespace emulated
