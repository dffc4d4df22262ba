#include "tests/gpu_emulation/nccl/numbers.h"

#include <algorithm>
#include <cstdint>
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
