// The gradients of attention by tiles; see attention_loops.h.
#pragma once

#include <cstdint>

#include "larmor/kernels/attention/attention_cpu.h"
#include "larmor/kernels/attention/attention_loops.h"
#include "larmor/kernels/attention/attention_powers.h"

namespace larmor::attentions {

template <int lanes>
struct BackwardLoops {
  using By = Vectors<lanes>;
  using Vector = typename By::Vector;
  using Pack = Packing<lanes>;

  /// A stretch of keys of a head, and what is summed for them: [stretch_keys, padded] each.
  struct Stretch {
    float *keys, *values, *of_keys, *of_values;
  };

  /// A tile of queries: as columns [padded, tile_queries] and as rows [tile_queries, padded].
  struct Tile {
    float *columns, *slope_columns, *rows, *slope_rows, *of_query;
    float *sums, *shares;    // [tile_queries]: logarithms; products of output and gradient
    float *powers, *slopes;  // [tile_keys, tile_queries]
    int64_t queries = 0;     // of its lanes
  };

  static Stretch stretch_in(const Shape& shape, float* workspace) {
    const int64_t numbers = shape.stretch_keys() * shape.padded_width();
    return {workspace, workspace + numbers, workspace + 2 * numbers, workspace + 3 * numbers};
  }

  static Tile tile_in(const Shape& shape, float* workspace) {
    const int64_t padded = shape.padded_width(), numbers = padded * tile_queries;
    float* next = workspace + 4 * shape.stretch_keys() * padded;
    const auto take = [&](int64_t count) {
      float* const taken = next;
      next += count;
      return taken;
    };
    return {.columns = take(numbers),
            .slope_columns = take(numbers),
            .rows = take(numbers),
            .slope_rows = take(numbers),
            .of_query = take(numbers),
            .sums = take(tile_queries),
            .shares = take(tile_queries),
            .powers = take(tile_keys * tile_queries),
            .slopes = take(tile_keys * tile_queries)};
  }

  /// Where the queries' gradient of a part of the keys lies, [padded, tile_queries].
  static float* part_of(const Backward& with, int64_t part, int64_t head, int64_t tile) {
    const Shape& shape = with.shape;
    const int64_t of_tile = shape.padded_width() * tile_queries;
    return with.parts + ((part * shape.samples * shape.heads + head) * shape.query_tiles() + tile) * of_tile;
  }

  static void open_tile(const Backward& with, int64_t sample, int64_t head, int64_t first, Tile& tile) {
    constexpr float log2_e = 1.44269504F;
    const Shape& shape = with.shape;
    const int64_t count = tile.queries = Pack::least(tile_queries, shape.queries - first);
    const float* const query = with.query.head(sample, head) + first * with.query.of_token;
    const float* const slope = with.gradient.head(sample, head) + first * with.gradient.of_token;
    const float* const output = with.output.head(sample, head) + first * with.output.of_token;
    const float by = static_cast<float>(shape.scale) * log2_e;
    Pack::columns(query, with.query.of_token, count, shape, by, tile.columns);
    Pack::columns(slope, with.gradient.of_token, count, shape, 1, tile.slope_columns);
    Pack::rows(query, with.query.of_token, count, shape, count, tile.rows);
    Pack::rows(slope, with.gradient.of_token, count, shape, count, tile.slope_rows);
    const float* const sums = with.sums + (sample * shape.heads + head) * shape.queries + first;
    for (int64_t i = 0; i < Pack::lanes_of(count); ++i) {
      double share = 0;
      if (i < count)
        for (int64_t at = 0; at < shape.width; ++at)
          share += static_cast<double>(output[i * with.output.of_token + at]) *
                   static_cast<double>(slope[i * with.gradient.of_token + at]);
      tile.shares[i] = static_cast<float>(share);
      tile.sums[i] = i < count ? sums[i] : 0;
    }
  }

  /// Turns scores to what each value is weighed by.
  static void weigh(const Tile& tile, int64_t keys) {
    for (int64_t lane = 0; lane < Pack::lanes_of(tile.queries); lane += lanes) {
      const Vector sums = By::load(tile.sums + lane);
      for (int64_t key = 0; key < keys; ++key) {
        float* const at = tile.powers + key * tile_queries + lane;
        By::store(at, By::power_of_two(By::load(at) - sums));
      }
    }
  }

  /// Turns the slopes of weights to those of scores.
  static void differentiate(const Tile& tile, int64_t keys) {
    for (int64_t lane = 0; lane < Pack::lanes_of(tile.queries); lane += lanes) {
      const Vector shares = By::load(tile.shares + lane);
      for (int64_t key = 0; key < keys; ++key) {
        const int64_t at = key * tile_queries + lane;
        By::store(tile.slopes + at, By::load(tile.powers + at) * (By::load(tile.slopes + at) - shares));
      }
    }
  }

  /// A tile of queries with a tile of keys, the one that begins with `first` of the stretch.
  static void pair(const Shape& shape, const Stretch& stretch, const Tile& tile, int64_t first,
                   int64_t keys) {
    using Multiply = Products<lanes>;
    const int64_t padded = shape.padded_width(), room = (keys + 3) / 4 * 4, at = first * padded;
    const int64_t filled = Pack::lanes_of(tile.queries);
    Multiply::multiply({stretch.keys + at, padded, 1}, {tile.columns, tile_queries},
                       {tile.powers, tile_queries, false}, room, filled, shape.width);
    weigh(tile, room);
    Multiply::multiply({stretch.values + at, padded, 1}, {tile.slope_columns, tile_queries},
                       {tile.slopes, tile_queries, false}, room, filled, shape.width);
    Multiply::multiply({tile.powers, tile_queries, 1}, {tile.slope_rows, padded},
                       {stretch.of_values + at, padded, true}, room, padded, tile.queries);
    differentiate(tile, room);
    Multiply::multiply({tile.slopes, tile_queries, 1}, {tile.rows, padded},
                       {stretch.of_keys + at, padded, true}, room, padded, tile.queries);
    Multiply::multiply({stretch.keys + at, 1, padded}, {tile.slopes, tile_queries},
                       {tile.of_query, tile_queries, true}, (shape.width + 3) / 4 * 4, filled, keys);
  }

  static void write_rows(const Shape& shape, const float* from, int64_t keys, float by, float* to,
                         int64_t of_token) {
    for (int64_t key = 0; key < keys; ++key)
      for (int64_t i = 0; i < shape.width; ++i)
        to[key * of_token + i] = from[key * shape.padded_width() + i] * by;
  }

  /// Keys from `first`, as many as a stretch has at most, with all queries of the head.
  static void stretch_of(const Backward& with, int64_t part, int64_t sample, int64_t head, int64_t first,
                         int64_t keys, bool is_first, float* workspace) {
    const Shape& shape = with.shape;
    const Stretch stretch = stretch_in(shape, workspace);
    Tile tile = tile_in(shape, workspace);
    const int64_t room = (keys + 3) / 4 * 4, of_tile = shape.padded_width() * tile_queries;
    Pack::rows(with.key.head(sample, head) + first * with.key.of_token, with.key.of_token, keys, shape, room,
               stretch.keys);
    Pack::rows(with.value.head(sample, head) + first * with.value.of_token, with.value.of_token, keys, shape,
               room, stretch.values);
    for (int64_t i = 0; i < room * shape.padded_width(); ++i) stretch.of_keys[i] = stretch.of_values[i] = 0;
    for (int64_t which = 0; which < shape.query_tiles(); ++which) {
      open_tile(with, sample, head, which * tile_queries, tile);
      float* const whole = part_of(with, part, sample * shape.heads + head, which);
      for (int64_t i = 0; i < of_tile; ++i) tile.of_query[i] = is_first ? 0 : whole[i];
      for (int64_t key = 0; key < keys; key += tile_keys)
        pair(shape, stretch, tile, key, Pack::least(tile_keys, keys - key));
      for (int64_t i = 0; i < of_tile; ++i) whole[i] = tile.of_query[i];
    }
    write_rows(shape, stretch.of_keys, keys, static_cast<float>(shape.scale),
               with.of_key.head(sample, head) + first * with.of_key.of_token, with.of_key.of_token);
    write_rows(shape, stretch.of_values, keys, 1,
               with.of_value.head(sample, head) + first * with.of_value.of_token, with.of_value.of_token);
  }

  static void run(const Backward& with, int64_t first, int64_t end, float* workspace) {
    const Shape& shape = with.shape;
    for (int64_t task = first; task < end; ++task) {
      const int64_t part = task % shape.parts, head = task / shape.parts % shape.heads;
      const int64_t sample = task / shape.parts / shape.heads;
      // Parts begin with a tile.
      const int64_t tiles = shape.key_tiles();
      const int64_t begin = part * tiles / shape.parts * tile_keys;
      const int64_t stop = Pack::least(shape.keys, (part + 1) * tiles / shape.parts * tile_keys);
      for (int64_t key = begin; key < stop; key += shape.stretch_keys())
        stretch_of(with, part, sample, head, key, Pack::least(shape.stretch_keys(), stop - key), key == begin,
                   workspace);
    }
  }

  static void add_parts(const Backward& with, int64_t first, int64_t end) {
    const Shape& shape = with.shape;
    const auto scale = static_cast<float>(shape.scale);
    for (int64_t task = first; task < end; ++task) {
      const int64_t tile = task % shape.query_tiles(), head = task / shape.query_tiles();
      const int64_t query = tile * tile_queries, count = Pack::least(tile_queries, shape.queries - query);
      float* const to =
          with.of_query.head(head / shape.heads, head % shape.heads) + query * with.of_query.of_token;
      for (int64_t token = 0; token < count; ++token)
        for (int64_t i = 0; i < shape.width; ++i) {
          float sum = 0;
          for (int64_t part = 0; part < shape.parts; ++part)
            sum += part_of(with, part, head, tile)[i * tile_queries + token];
          to[token * with.of_query.of_token + i] = sum * scale;
        }
    }
  }
};

}  // namespace larmor::attentions
