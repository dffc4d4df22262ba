// The loops of attention on CPUs, whose scores never leave the first cache. No libtorch: stretches of memory
// and sizes.
#pragma once

#include <cstdint>

namespace larmor::attentions {

/// Queries and keys are taken in tiles of so many.
inline constexpr int64_t tile_queries = 64, tile_keys = 64;
/// A task of the forward pass is so many tiles of queries of a head.
inline constexpr int64_t tiles_of_task = 4;
/// Numbers of a token, rounded up, as tiles hold them; and of queries, as the last tile computes them.
inline constexpr int64_t width_step = 16;
/// A stretch of keys has so many numbers, so that what backward holds of it stays in the second cache.
inline constexpr int64_t stretch_numbers = 32768;

// What these types compute is always inlined: the linker would take a copy made for wide vectors for every
// CPU.
struct Shape {
  int64_t samples, heads, queries, keys, width;
  double scale;       // of scores
  int64_t parts = 1;  // into which backward cuts the keys of a head; each has sums of its own for the queries

  [[gnu::always_inline]] int64_t padded_width() const {
    return (width + width_step - 1) / width_step * width_step;
  }
  [[gnu::always_inline]] int64_t query_tiles() const { return (queries + tile_queries - 1) / tile_queries; }
  [[gnu::always_inline]] int64_t key_tiles() const { return (keys + tile_keys - 1) / tile_keys; }
  [[gnu::always_inline]] int64_t stretch_keys() const {
    const int64_t most = stretch_numbers / padded_width() / tile_keys * tile_keys,
                  all = key_tiles() * tile_keys;
    return most < all ? most : all;
  }
};

/// Tokens of all heads, [samples, heads, tokens, width]: the numbers of a token lie side by side.
template <class Number>
struct Tokens {
  Number* numbers;
  int64_t of_sample, of_head, of_token;  // steps

  [[gnu::always_inline]] Number* head(int64_t sample, int64_t which) const {
    return numbers + sample * of_sample + which * of_head;
  }
};

struct Forward {
  Shape shape;
  Tokens<const float> query, key, value;
  Tokens<float> output;
  float* sums;  // [samples, heads, queries]: logarithms, to base 2, of the sums of the powers of scores
};

struct Backward {
  Shape shape;
  Tokens<const float> query, key, value, output, gradient;
  const float* sums;
  Tokens<float> of_query, of_key, of_value;
  float* parts;  // [parts, samples, heads, query tiles, padded width, tile_queries]
};

/// The number of parts into which backward cuts the keys of a head, for several threads to have work where
/// heads are few. By the sizes alone, since bits depend on it.
int64_t parts_of(const Shape& shape);

/// Numbers that a thread needs beside, at an address that 64 divides.
int64_t forward_workspace(const Shape& shape);
int64_t backward_workspace(const Shape& shape);

/// Tasks write different results, so any threads may share them in any way, and the bits are the same.
int64_t forward_tasks(const Shape& shape);
int64_t backward_tasks(const Shape& shape);
/// The tasks of add_parts().
int64_t adding_tasks(const Shape& shape);

/// The loops for one width of vectors; their bits are alike, because no sum goes across lanes and every
/// product that is added is fused.
struct Loops {
  void (*forward)(const Forward&, int64_t first, int64_t end, float* workspace);
  /// Gradients of keys and values, and the parts of those of queries.
  void (*backward)(const Backward&, int64_t first, int64_t end, float* workspace);
  /// The gradient of queries, from its parts.
  void (*add_parts)(const Backward&, int64_t first, int64_t end);
};

/// Requires: a CPU with AVX-512 (F, VL, DQ, BW), or with AVX2 and FMA.
Loops loops_by_avx512();
Loops loops_by_avx2();

}  // namespace larmor::attentions
