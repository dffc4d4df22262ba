// Built with flags of its own (CMakeLists.txt): the same bits on every machine need a compiler that neither
// fuses multiplications into additions nor calls a library for the root. For the same reason logarithm, sine
// and cosine are polynomials here: those of libm differ from version to version and from CPU to CPU.
#include "larmor/base/seed.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "larmor/base/hash.h"

namespace larmor {
namespace {

// Blocks are made side by side in this many lanes, so that the compiler can use whole vector registers.
// A group is what they give together: 4 words a block. Both numbers fix which element gets which word;
// changing them changes every run.
constexpr size_t lanes = 64;
constexpr size_t group = 4 * lanes;

constexpr uint32_t multiplier_0 = 0xD2511F53;
constexpr uint32_t multiplier_1 = 0xCD9E8D57;
constexpr uint32_t key_step_0 = 0x9E3779B9;
constexpr uint32_t key_step_1 = 0xBB67AE85;
constexpr int rounds = 10;

// The finalizer of SplitMix64: every bit of the input moves every bit of the output.
constexpr uint64_t mix(uint64_t bits) {
  bits += 0x9E3779B97F4A7C15;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return bits ^ (bits >> 31);
}

constexpr uint32_t low(uint64_t word) { return static_cast<uint32_t>(word); }
constexpr uint32_t high(uint64_t word) { return static_cast<uint32_t>(word >> 32); }

// What the loops below call is always inlined: out of line it would be compiled for one CPU only.
struct Block {
  uint32_t word_0, word_1, word_2, word_3;
};

[[gnu::always_inline]] inline Block round_of(Block in, uint32_t key_0, uint32_t key_1) {
  const uint64_t product_0 = uint64_t{multiplier_0} * in.word_0;
  const uint64_t product_1 = uint64_t{multiplier_1} * in.word_2;
  return {.word_0 = high(product_1) ^ in.word_1 ^ key_0,
          .word_1 = low(product_1),
          .word_2 = high(product_0) ^ in.word_3 ^ key_1,
          .word_3 = low(product_0)};
}

// Word w of block `first + i` goes to words[w * lanes + i].
LARMOR_EVERY_CPU void fill_words(Key key, uint64_t first, uint32_t* __restrict words) {
  uint32_t* word_0 = words;
  uint32_t* word_1 = words + lanes;
  uint32_t* word_2 = words + 2 * lanes;
  uint32_t* word_3 = words + 3 * lanes;
  for (size_t i = 0; i < lanes; ++i) {
    word_0[i] = low(first + i);
    word_1[i] = high(first + i);
    word_2[i] = low(key.stream);
    word_3[i] = high(key.stream);
  }
  uint32_t key_0 = low(key.key);
  uint32_t key_1 = high(key.key);
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < lanes; ++i) {
      const Block out = round_of({word_0[i], word_1[i], word_2[i], word_3[i]}, key_0, key_1);
      word_0[i] = out.word_0;
      word_1[i] = out.word_1;
      word_2[i] = out.word_2;
      word_3[i] = out.word_3;
    }
    key_0 += key_step_0;
    key_1 += key_step_1;
  }
}

// std::bit_cast is a function of its own, which stays out of line in the copies for other CPUs.
[[gnu::always_inline]] inline uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
[[gnu::always_inline]] inline float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }

constexpr float two_to_minus_24 = 0x1p-24F;

// [0, 1) from the upper 24 bits; the signed detour is what vector units can convert.
[[gnu::always_inline]] inline float to_uniform(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word >> 8)) * two_to_minus_24;
}

// Natural logarithm of a normal number in (0, 1): the number is split into a power of two and a mantissa in
// [sqrt(1/2), sqrt(2)), whose logarithm is a polynomial (single-precision coefficients of Cephes).
[[gnu::always_inline]] inline float natural_log(float x) {
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
[[gnu::always_inline]] inline float flip_sign(float x, uint32_t which) {
  return float_of(bits_of(x) ^ (which << 31));
}

[[gnu::always_inline]] inline float choose(uint32_t which, float if_one, float if_zero) {
  const uint32_t mask = 0U - which;
  return float_of((bits_of(if_one) & mask) | (bits_of(if_zero) & ~mask));
}

struct NormalPair {
  float first, second;
};

// Box and Muller (1958): a radius from one word; from the other an angle within a quarter turn, and two bits
// that choose the quarter.
[[gnu::always_inline]] inline NormalPair to_normals(uint32_t radius_word, uint32_t angle_word) {
  const float u = (static_cast<float>(static_cast<int32_t>(radius_word >> 8)) + 0.5F) * two_to_minus_24;
  const float square = -2.0F * natural_log(u);
  const float radius = __builtin_sqrtf(square > 0.0F ? square : 0.0F);

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

LARMOR_EVERY_CPU void words_to_normals(const uint32_t* __restrict words, float* __restrict out) {
  for (size_t i = 0; i < lanes; ++i) {
    const NormalPair early = to_normals(words[i], words[lanes + i]);
    out[i] = early.first;
    out[lanes + i] = early.second;
  }
  for (size_t i = 2 * lanes; i < 3 * lanes; ++i) {
    const NormalPair late = to_normals(words[i], words[lanes + i]);
    out[i] = late.first;
    out[lanes + i] = late.second;
  }
}

LARMOR_EVERY_CPU void words_to_uniforms(const uint32_t* __restrict words, float* __restrict out) {
  for (size_t i = 0; i < group; ++i) out[i] = to_uniform(words[i]);
}

// A last group that is cut short is made whole and copied in part: where `out` ends must not matter.
template <class Convert>
void fill(Key key, std::span<float> out, Convert convert) {
  alignas(64) std::array<uint32_t, group> words;
  alignas(64) std::array<float, group> rest;
  for (size_t start = 0; start < out.size(); start += group) {
    fill_words(key, start / 4, words.data());
    if (out.size() - start >= group) {
      convert(words.data(), out.data() + start);
    } else {
      convert(words.data(), rest.data());
      std::copy_n(rest.begin(), out.size() - start, out.begin() + static_cast<std::ptrdiff_t>(start));
    }
  }
}

}  // namespace

Key make_key(uint64_t seed, uint64_t epoch, uint64_t example, std::string_view purpose) {
  return {.key = mix(seed ^ mix(fast_hash(purpose))), .stream = mix(mix(epoch) ^ example)};
}

std::array<uint32_t, 4> philox(Key key, uint64_t counter) {
  Block block{low(counter), high(counter), low(key.stream), high(key.stream)};
  uint32_t key_0 = low(key.key);
  uint32_t key_1 = high(key.key);
  for (int round = 0; round < rounds; ++round) {
    block = round_of(block, key_0, key_1);
    key_0 += key_step_0;
    key_1 += key_step_1;
  }
  return {block.word_0, block.word_1, block.word_2, block.word_3};
}

void fill_normal(Key key, std::span<float> out) { fill(key, out, words_to_normals); }

void fill_uniform(Key key, std::span<float> out) { fill(key, out, words_to_uniforms); }

uint64_t Draws::word() {
  // The upper half of the counters: fill_normal and fill_uniform with the same key use the lower one.
  constexpr uint64_t upper_half = uint64_t{1} << 63;
  if (left_ == 0) {
    block_ = philox(key_, upper_half | counter_++);
    left_ = 2;
  }
  const size_t index = left_ == 2 ? 0 : 2;
  --left_;
  return (uint64_t{block_[index + 1]} << 32) | block_[index];
}

double Draws::uniform() { return static_cast<double>(word() >> 11) * 0x1p-53; }

uint64_t Draws::below(uint64_t limit) {
  assert(limit > 0);
  // Words under 2^64 mod limit are drawn again: the rest divides evenly.
  const uint64_t surplus = (uint64_t{0} - limit) % limit;
  uint64_t drawn = word();
  while (drawn < surplus) drawn = word();
  return drawn % limit;
}

double Draws::normal() {
  const uint64_t drawn = word();
  return static_cast<double>(to_normals(low(drawn), high(drawn)).first);
}

std::vector<int64_t> keyed_permutation(uint64_t seed, uint64_t epoch, int64_t n) {
  assert(n >= 0);
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  Draws draws(make_key(seed, epoch, 0, "order"));
  // Fisher and Yates, from the end.
  for (size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[static_cast<size_t>(draws.below(left))]);
  }
  return order;
}

}  // namespace larmor
