// Attention forward and backward by tiles, for the source of one width of vectors. As in vector_products.h,
// everything is a member of a template over the lanes.
#pragma once

#include <cstdint>

#include "larmor/kernels/attention/attention_cpu.h"
#include "larmor/kernels/attention/attention_powers.h"
#include "larmor/kernels/vector_products.h"

namespace larmor::attentions {

using vectors::Products;

/// Rows of tokens to tiles and back.
template <int lanes>
struct Packing {
  /// [tokens, padded]: rows one after the other, and zeros behind their numbers and behind the last.
  static void rows(const float* from, int64_t of_token, int64_t tokens, const Shape& shape, int64_t room,
                   float* to) {
    const int64_t padded = shape.padded_width();
    for (int64_t token = 0; token < room; ++token, to += padded) {
      int64_t i = 0;
      if (token < tokens)
        for (const float* const row = from + token * of_token; i < shape.width; ++i) to[i] = row[i];
      for (; i < padded; ++i) to[i] = 0;
    }
  }

  /// Queries of a tile that are computed: the last ones are zeros.
  static int64_t lanes_of(int64_t queries) { return (queries + width_step - 1) / width_step * width_step; }

  /// [padded, tile_queries], times `by`; zeros in the other lanes that are computed.
  static void columns(const float* from, int64_t of_token, int64_t tokens, const Shape& shape, float by,
                      float* to) {
    for (int64_t i = 0; i < shape.width; ++i) {
      float* const row = to + i * tile_queries;
      for (int64_t token = 0; token < tokens; ++token) row[token] = from[token * of_token + i] * by;
      for (int64_t token = tokens; token < lanes_of(tokens); ++token) row[token] = 0;
    }
  }

  static int64_t least(int64_t one, int64_t other) { return one < other ? one : other; }
};

template <int lanes>
struct ForwardLoops {
  using By = Vectors<lanes>;
  using Vector = typename By::Vector;
  using Pack = Packing<lanes>;

  /// What grows while a tile of queries goes over the keys.
  struct Tile {
    float *query, *sums;  // [padded, tile_queries]
    float *most, *total;  // [tile_queries]
    int64_t queries = 0;  // of its lanes
  };

  /// The part of a task that begins with query `begin`.
  static Tile tile_at(const Shape& shape, float* workspace, int64_t begin, int64_t which) {
    const int64_t numbers = shape.padded_width() * tile_queries, query = begin + which * tile_queries;
    float* const first = workspace + which * (2 * numbers + 2 * tile_queries);
    return {.query = first,
            .sums = first + numbers,
            .most = first + 2 * numbers,
            .total = first + 2 * numbers + tile_queries,
            .queries = Pack::least(tile_queries, shape.queries - query)};
  }

  /// Turns scores [keys, tile_queries] to the powers of their distance from the greatest; what was summed for
  /// a smaller one shrinks.
  static void powers(const Shape& shape, const Tile& tile, float* scores, int64_t keys) {
    for (int64_t lane = 0; lane < Pack::lanes_of(tile.queries); lane += lanes) {
      const Vector before = By::load(tile.most + lane);
      Vector most = before;
      for (int64_t key = 0; key < keys; ++key) {
        const Vector score = By::load(scores + key * tile_queries + lane);
        most = score > most ? score : most;
      }
      Vector sum = {};
      for (int64_t key = 0; key < keys; ++key) {
        float* const at = scores + key * tile_queries + lane;
        const Vector power = By::power_of_two(By::load(at) - most);
        By::store(at, power);
        sum += power;
      }
      const Vector shrinks = By::power_of_two(before - most);
      By::store(tile.most + lane, most);
      By::store(tile.total + lane, By::load(tile.total + lane) * shrinks + sum);
      for (int64_t i = 0; i < shape.width; ++i) {
        float* const at = tile.sums + i * tile_queries + lane;
        By::store(at, By::load(at) * shrinks);
      }
    }
  }

  static void finish(const Shape& shape, const Tile& tile, float* output, int64_t of_token, float* sums) {
    for (int64_t query = 0; query < tile.queries; ++query) {
      const float total = tile.total[query], share = 1 / total;
      float* const row = output + query * of_token;
      for (int64_t i = 0; i < shape.width; ++i) row[i] = tile.sums[i * tile_queries + query] * share;
      sums[query] = tile.most[query] + __builtin_log2f(total);
    }
  }

  static void start(const Shape& shape, const Tile& tile, const float* query, int64_t of_token) {
    constexpr float log2_e = 1.44269504F;
    Pack::columns(query, of_token, tile.queries, shape, static_cast<float>(shape.scale) * log2_e, tile.query);
    for (int64_t at = 0; at < shape.padded_width() * tile_queries; ++at) tile.sums[at] = 0;
    for (int64_t at = 0; at < tile_queries; ++at) {
      tile.most[at] = -__builtin_inff();
      tile.total[at] = 0;
    }
  }

  /// A tile of queries with a tile of keys; both are rows.
  static void pair(const Shape& shape, const Tile& tile, const float* keys, const float* values,
                   int64_t count, float* scores) {
    const int64_t padded = shape.padded_width(), filled = Pack::lanes_of(tile.queries);
    Products<lanes>::multiply({keys, padded, 1}, {tile.query, tile_queries}, {scores, tile_queries, false},
                              (count + 3) / 4 * 4, filled, shape.width);
    powers(shape, tile, scores, count);
    Products<lanes>::multiply({values, 1, padded}, {scores, tile_queries}, {tile.sums, tile_queries, true},
                              (shape.width + 3) / 4 * 4, filled, count);
  }

  static void task(const Forward& with, int64_t which, float* workspace) {
    const Shape& shape = with.shape;
    const int64_t groups = (shape.query_tiles() + tiles_of_task - 1) / tiles_of_task;
    const int64_t head = which / groups % shape.heads, sample = which / groups / shape.heads;
    const int64_t group = which % groups, first = group * tiles_of_task * tile_queries;
    const int64_t tiles = Pack::least(tiles_of_task, shape.query_tiles() - group * tiles_of_task);
    const auto for_tiles = [&](const auto& visit) {
      for (int64_t i = 0; i < tiles; ++i)
        visit(tile_at(shape, workspace, first, i), first + i * tile_queries);
    };
    for_tiles([&](const Tile& tile, int64_t query) {
      start(shape, tile, with.query.head(sample, head) + query * with.query.of_token, with.query.of_token);
    });
    float* const keys = tile_at(shape, workspace, first, tiles_of_task).query;
    float* const values = keys + tile_keys * shape.padded_width();
    float* const scores = values + tile_keys * shape.padded_width();
    for (int64_t key = 0; key < shape.keys; key += tile_keys) {
      const int64_t count = Pack::least(tile_keys, shape.keys - key), room = (count + 3) / 4 * 4;
      Pack::rows(with.key.head(sample, head) + key * with.key.of_token, with.key.of_token, count, shape, room,
                 keys);
      Pack::rows(with.value.head(sample, head) + key * with.value.of_token, with.value.of_token, count, shape,
                 room, values);
      for_tiles([&](const Tile& tile, int64_t) { pair(shape, tile, keys, values, count, scores); });
    }
    for_tiles([&](const Tile& tile, int64_t query) {
      finish(shape, tile, with.output.head(sample, head) + query * with.output.of_token, with.output.of_token,
             with.sums + (sample * shape.heads + head) * shape.queries + query);
    });
  }

  static void run(const Forward& with, int64_t first, int64_t end, float* workspace) {
    for (int64_t which = first; which < end; ++which) task(with, which, workspace);
  }
};

}  // namespace larmor::attentions
