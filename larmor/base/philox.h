// The arithmetic of the Philox 4x32-10 generator and of what is made of its words, for whoever draws: loops
// over lanes on CPUs (base/seed.cpp), one thread a block on GPUs (kernels/draw/philox_cuda.cu). Requires: a
// source that is built without fused multiplications and additions (cmake/layer.cmake, larmor_every_cpu):
// then the numbers have the same bits everywhere. Source: Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011.
#pragma once

#include <cstddef>
#include <cstdint>

namespace larmor::philox4x32 {

// Element e of a row comes from word (e % group) / lanes of block (e / group) * lanes + e % lanes: CPUs make
// the blocks of a group side by side in whole vector registers. Changing either number changes every run.
constexpr size_t lanes = 64;
constexpr size_t group = 4 * lanes;

constexpr uint32_t multiplier_0 = 0xD2511F53;
constexpr uint32_t multiplier_1 = 0xCD9E8D57;
constexpr uint32_t key_step_0 = 0x9E3779B9;
constexpr uint32_t key_step_1 = 0xBB67AE85;
constexpr int rounds = 10;

constexpr uint32_t low(uint64_t word) { return static_cast<uint32_t>(word); }
constexpr uint32_t high(uint64_t word) { return static_cast<uint32_t>(word >> 32); }

struct Block {
  uint32_t word_0, word_1, word_2, word_3;
};

[[gnu::always_inline]] constexpr Block round_of(Block in, uint32_t key_0, uint32_t key_1) {
  const uint64_t product_0 = uint64_t{multiplier_0} * in.word_0;
  const uint64_t product_1 = uint64_t{multiplier_1} * in.word_2;
  return {.word_0 = high(product_1) ^ in.word_1 ^ key_0,
          .word_1 = low(product_1),
          .word_2 = high(product_0) ^ in.word_3 ^ key_1,
          .word_3 = low(product_0)};
}

// std::bit_cast is a function of its own, which stays out of line in the copies for other CPUs.
[[gnu::always_inline]] constexpr uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
[[gnu::always_inline]] constexpr float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }

constexpr float two_to_minus_24 = 0x1p-24F;

// [0, 1) from the upper 24 bits; the signed detour is what vector units can convert.
[[gnu::always_inline]] constexpr float to_uniform(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word >> 8)) * two_to_minus_24;
}

// Natural logarithm of a normal number in (0, 1): the number is split into a power of two and a mantissa in
// [sqrt(1/2), sqrt(2)), whose logarithm is a polynomial (single-precision coefficients of Cephes).
[[gnu::always_inline]] constexpr float natural_log(float x) {
  constexpr uint32_t root_half = 0x3F3504F3;
  const uint32_t bits = bits_of(x);
  const uint32_t exponent_bits = (bits - root_half) & 0xFF800000;
  const float exponent = static_cast<float>(static_cast<int32_t>(exponent_bits) >> 23);
  const float f = float_of(bits - exponent_bits) - 1.0F;
  const float f2 = f * f;
  float p = 7.0376836292e-2F;
  p = p * f - 1.1514610310e-1F;
  p = p * f + 1.1676998740e-1F;
  p = p * f - 1.2420140846e-1F;
  p = p * f + 1.4249322787e-1F;
  p = p * f - 1.6668057665e-1F;
  p = p * f + 2.0000714765e-1F;
  p = p * f - 2.4999993993e-1F;
  p = p * f + 3.3333331174e-1F;
  // log 2 in two parts, the first exact in a few bits, so that the product with the exponent is exact.
  float sum = p * f * f2;
  sum = sum - 2.12194440e-4F * exponent;
  sum = sum - 0.5F * f2;
  sum = sum + f;
  return sum + 0.693359375F * exponent;
}

// Choices by bits instead of branches: with branches the compiler leaves the loops below scalar, five times
// as slow. `which` is 0 or 1.
[[gnu::always_inline]] constexpr float flip_sign(float x, uint32_t which) {
  return float_of(bits_of(x) ^ (which << 31));
}

[[gnu::always_inline]] constexpr float choose(uint32_t which, float if_one, float if_zero) {
  const uint32_t mask = 0U - which;
  return float_of((bits_of(if_one) & mask) | (bits_of(if_zero) & ~mask));
}

struct NormalPair {
  float first, second;
};

// Box and Muller (1958): a radius from one word; from the other an angle within a quarter turn, and two bits
// that choose the quarter. The root between the two functions is the caller's: an instruction, on each device
// another one.
[[gnu::always_inline]] constexpr float squared_radius(uint32_t radius_word) {
  const float u = (static_cast<float>(static_cast<int32_t>(radius_word >> 8)) + 0.5F) * two_to_minus_24;
  const float square = -2.0F * natural_log(u);
  return square > 0.0F ? square : 0.0F;
}

[[gnu::always_inline]] constexpr NormalPair to_normals(float radius, uint32_t angle_word) {
  const uint32_t angle_bits = (angle_word >> 6) & 0xFFFFFF;
  const float turn = (static_cast<float>(static_cast<int32_t>(angle_bits)) + 0.5F) * two_to_minus_24;
  const float angle = (turn - 0.5F) * 1.57079632679F;
  const float a2 = angle * angle;
  // Sine and cosine on [-pi/4, pi/4], again with the coefficients of Cephes.
  const float sine =
      ((-1.9515295891e-4F * a2 + 8.3321608736e-3F) * a2 - 1.6666654611e-1F) * a2 * angle + angle;
  const float cosine =
      ((2.443315711809948e-5F * a2 - 1.388731625493765e-3F) * a2 + 4.166664568298827e-2F) * a2 * a2 -
      0.5F * a2 + 1.0F;

  const uint32_t quarter = (angle_word >> 30) & 1;
  const float signed_radius = flip_sign(radius, angle_word >> 31);
  return {.first = choose(quarter, flip_sign(sine, 1), cosine) * signed_radius,
          .second = choose(quarter, cosine, sine) * signed_radius};
}

/// The upper half of word * limit: in [0, limit), for a word of 64 bits. Off from uniform by limit / 2^64.
[[gnu::always_inline]] constexpr uint64_t scaled_below(uint64_t word, uint64_t limit) {
  const uint64_t low_low = uint64_t{low(word)} * low(limit), low_high = uint64_t{low(word)} * high(limit);
  const uint64_t high_low = uint64_t{high(word)} * low(limit), high_high = uint64_t{high(word)} * high(limit);
  const uint64_t carry = (uint64_t{high(low_low)} + low(low_high) + low(high_low)) >> 32;
  return high_high + high(low_high) + high(high_low) + carry;
}

/// The whole block `counter` of a key.
[[gnu::always_inline]] constexpr Block block_of(uint64_t key, uint64_t stream, uint64_t counter) {
  Block block{low(counter), high(counter), low(stream), high(stream)};
  uint32_t key_0 = low(key);
  uint32_t key_1 = high(key);
  for (int round = 0; round < rounds; ++round) {
    block = round_of(block, key_0, key_1);
    key_0 += key_step_0;
    key_1 += key_step_1;
  }
  return block;
}

}  // namespace larmor::philox4x32
