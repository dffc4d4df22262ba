// The exponential function and what is made of it, as polynomials that compilers turn into vector
// instructions: a call into a library would leave a loop scalar, and its bits differ from version to version.
// Requires: a source that is built without fused multiplications and additions (larmor_every_cpu).
#pragma once

#include <cstdint>

namespace larmor::exponentials {

template <class Number>
struct Format;

template <>
struct Format<float> {
  using Bits = uint32_t;
  static constexpr int mantissa_bits = 23, bias = 127, degree = 7;
  static constexpr float most = 87.0F;            // neither e^x nor 1 / (1 + e^x) is subnormal or infinite
  static constexpr float to_integer = 0x1.8p23F;  // a sum with it has the nearest integer in its last bits
  // log 2 in two parts, the first exact in so few bits that its product with the exponent is exact.
  static constexpr float log_2_high = 0x1.63p-1F, log_2_low = -0x1.bd0106p-13F;
};

template <>
struct Format<double> {
  using Bits = uint64_t;
  static constexpr int mantissa_bits = 52, bias = 1023, degree = 13;
  static constexpr double most = 708.0;
  static constexpr double to_integer = 0x1.8p52;
  static constexpr double log_2_high = 0x1.62e42feep-1, log_2_low = 0x1.a39ef35793c76p-33;
};

template <class Number>
constexpr Number one_over_factorial(int n) {
  double product = 1;
  for (int i = 2; i <= n; ++i) product *= i;
  return static_cast<Number>(1 / product);
}

/// Terms `first` to `first + count - 1` of the series of e^x, over x^first. Halves of them at a time: the
/// longest chain of operations is short, since loops wait for it.
template <class Number, int first, int count>
[[gnu::always_inline]] constexpr Number terms(Number x) {
  constexpr Number here = one_over_factorial<Number>(first);
  if constexpr (count == 1) {
    return here;
  } else if constexpr (count == 2) {
    constexpr Number next = one_over_factorial<Number>(first + 1);
    return here + next * x;
  } else {
    constexpr int half = count > 8 ? 8 : count > 4 ? 4 : 2;
    Number power = x * x;
    if constexpr (half > 2) power = power * power;
    if constexpr (half > 4) power = power * power;
    return terms<Number, first, half>(x) + terms<Number, first + half, count - half>(x) * power;
  }
}

/// `x`, or as large a number of its sign as Format::most. By its bits: a choice by comparison lets compilers
/// compute what follows twice, for the number and for the bound. What is no number becomes one.
template <class Number>
[[gnu::always_inline]] constexpr Number bounded(Number x) {
  using Bits = typename Format<Number>::Bits;
  constexpr Bits sign = Bits{1} << (sizeof(Bits) * 8 - 1);
  constexpr auto most = __builtin_bit_cast(Bits, Format<Number>::most);
  const auto bits = __builtin_bit_cast(Bits, x);
  const Bits size = bits & ~sign;
  return __builtin_bit_cast(Number, (size < most ? size : most) | (bits & sign));
}

/// e^x within 2 units in the last place, for |x| up to Format::most; beyond, e to that power. `degree`: of
/// the polynomial; of 4, the error is below 1e-4 of the result.
template <class Number, int degree = Format<Number>::degree>
[[gnu::always_inline]] constexpr Number exponential(Number given) {
  using Of = Format<Number>;
  using Bits = typename Of::Bits;
  constexpr auto log_2_e = static_cast<Number>(1.44269504088896340736);
  const Number x = bounded(given);
  const Number shifted = x * log_2_e + Of::to_integer;
  const Number exponent = shifted - Of::to_integer;
  Number rest = x;  // after this at most half of log 2
  if constexpr (degree == Of::degree) {
    rest = (x - exponent * Of::log_2_high) - exponent * Of::log_2_low;
  } else {
    rest = x - exponent * static_cast<Number>(0.693147180559945309417);
  }
  const Bits power = __builtin_bit_cast(Bits, shifted) - __builtin_bit_cast(Bits, Of::to_integer) +
                     static_cast<Bits>(Of::bias);
  return (Number{1} + rest * terms<Number, 1, degree>(rest)) *
         __builtin_bit_cast(Number, static_cast<Bits>(power << Of::mantissa_bits));
}

/// 1 / (1 + e^-x)
template <class Number, int degree = Format<Number>::degree>
[[gnu::always_inline]] constexpr Number sigmoid(Number x) {
  return Number{1} / (Number{1} + exponential<Number, degree>(-x));
}

/// x / (1 + e^-x). What is no number stays none.
template <class Number, int degree = Format<Number>::degree>
[[gnu::always_inline]] constexpr Number silu(Number x) {
  return x / (Number{1} + exponential<Number, degree>(-x));
}

/// The derivative of silu. What is no number stays none.
template <class Number, int degree = Format<Number>::degree>
[[gnu::always_inline]] constexpr Number silu_slope(Number x) {
  const Number part = sigmoid<Number, degree>(x);
  return part * (Number{1} + x * (Number{1} - part));
}

}  // namespace larmor::exponentials
