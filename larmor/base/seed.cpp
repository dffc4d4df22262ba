// Built with flags of its own (CMakeLists.txt): the same bits on every machine need a compiler that neither
// fuses multiplications into additions nor calls a library for the root. For the same reason logarithm, sine
// and cosine are polynomials here: those of libm differ from version to version and from CPU to CPU.
#include "larmor/base/seed.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>

#include "larmor/base/hash.h"
#include "larmor/base/philox.h"

namespace larmor {
namespace {

using namespace philox4x32;

// The finalizer of SplitMix64: every bit of the input moves every bit of the output.
constexpr uint64_t mix(uint64_t bits) {
  bits += 0x9E3779B97F4A7C15;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return bits ^ (bits >> 31);
}

// What the loops below call is always inlined: out of line it would be compiled for one CPU only.
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

[[gnu::always_inline]] inline NormalPair normals_of(uint32_t radius_word, uint32_t angle_word) {
  return to_normals(__builtin_sqrtf(squared_radius(radius_word)), angle_word);
}

LARMOR_EVERY_CPU void words_to_normals(const uint32_t* __restrict words, float* __restrict out) {
  for (size_t i = 0; i < lanes; ++i) {
    const NormalPair early = normals_of(words[i], words[lanes + i]);
    out[i] = early.first;
    out[lanes + i] = early.second;
  }
  for (size_t i = 2 * lanes; i < 3 * lanes; ++i) {
    const NormalPair late = normals_of(words[i], words[lanes + i]);
    out[i] = late.first;
    out[lanes + i] = late.second;
  }
}

LARMOR_EVERY_CPU void words_to_uniforms(const uint32_t* __restrict words, float* __restrict out) {
  for (size_t i = 0; i < group; ++i) out[i] = to_uniform(words[i]);
}

LARMOR_EVERY_CPU void words_to_kept(const uint32_t* __restrict words, uint32_t threshold,
                                    bool* __restrict out) {
  for (size_t i = 0; i < group; ++i) out[i] = words[i] < threshold;
}

// A last group that is cut short is made whole and copied in part: where `out` ends must not matter.
template <class Value, class Convert>
void fill(Key key, std::span<Value> out, Convert convert) {
  alignas(64) std::array<uint32_t, group> words;
  alignas(64) std::array<Value, group> rest;
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

uint64_t purpose_key(uint64_t seed, std::string_view purpose, uint64_t turn) {
  const uint64_t key = mix(seed ^ mix(fast_hash(purpose)));
  return turn == 0 ? key : mix(key ^ mix(turn));
}

uint64_t example_stream(uint64_t epoch, uint64_t example) { return mix(mix(epoch) ^ example); }

Key make_key(uint64_t seed, uint64_t epoch, uint64_t example, std::string_view purpose) {
  return {.key = purpose_key(seed, purpose), .stream = example_stream(epoch, example)};
}

std::array<uint32_t, 4> philox(Key key, uint64_t counter) {
  const Block block = block_of(key.key, key.stream, counter);
  return {block.word_0, block.word_1, block.word_2, block.word_3};
}

void fill_normal(Key key, std::span<float> out) { fill(key, out, words_to_normals); }

void fill_uniform(Key key, std::span<float> out) { fill(key, out, words_to_uniforms); }

uint64_t keep_threshold(double keep) {
  assert(keep >= 0 && keep <= 1);
  return static_cast<uint64_t>(keep * 0x1p32);
}

void fill_kept(Key key, uint64_t threshold, std::span<bool> out) {
  if (threshold > UINT32_MAX) {
    std::fill(out.begin(), out.end(), true);
    return;
  }
  fill(key, out, [limit = static_cast<uint32_t>(threshold)](const uint32_t* words, bool* kept) {
    words_to_kept(words, limit, kept);
  });
}

uint64_t integer_below(Key key, uint64_t limit) {
  const Block block = block_of(key.key, key.stream, 0);
  return scaled_below((uint64_t{block.word_1} << 32) | block.word_0, limit);
}

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
  return static_cast<double>(normals_of(low(drawn), high(drawn)).first);
}

}  // namespace larmor
