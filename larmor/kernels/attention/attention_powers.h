// The powers that attention takes, for vectors of as many lanes as the source that includes it is compiled
// for. As in vector_products.h, everything is a member of a template over the lanes.
#pragma once

#include <cstdint>

#include "larmor/kernels/vector_products.h"

namespace larmor::attentions {

/// Powers over vectors.
template <int lanes>
struct Vectors : vectors::Vectors<lanes> {
  using typename vectors::Vectors<lanes>::Vector;
  using vectors::Vectors<lanes>::all;
  typedef uint32_t Bits __attribute__((vector_size(lanes * 4)));

  /// 2^x within 2 units in the last place for x of at most 1; 2^-126 below that. What is no number stays
  /// none.
  [[gnu::always_inline]] static inline Vector power_of_two(Vector given) {
    // The last bits of a sum with the second are the nearest integer and the bias of exponents.
    constexpr float least = -126.0F, to_integer = 0x1.8p23F + 127.0F;
    const Vector x = given < least ? all(least) : given;
    const Vector shifted = x + to_integer;
    const Vector rest = x - (shifted - to_integer);  // at most a half
    // A polynomial of least relative error over halves.
    Vector value = all(0x1.5bba14p-10F);
    value = value * rest + 0x1.3cea88p-7F;
    value = value * rest + 0x1.c6b752p-5F;
    value = value * rest + 0x1.ebf9bcp-3F;
    value = value * rest + 0x1.62e42ap-1F;
    value = value * rest + 1.0F;
    return value * __builtin_bit_cast(Vector, __builtin_bit_cast(Bits, shifted) << 23);
  }
};

}  // namespace larmor::attentions
