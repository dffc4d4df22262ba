// Products of matrices for vectors of as many lanes as the source that includes it is compiled for.
// Everything is a member of a template over the lanes: what is compiled for a wide CPU is never linked into a
// path for narrower ones.
#pragma once

#include <cstdint>

namespace larmor::vectors {

template <int lanes>
struct Vectors {
  typedef float Vector __attribute__((vector_size(lanes * 4), may_alias));
  typedef float AnyVector __attribute__((vector_size(lanes * 4), may_alias, aligned(4)));

  [[gnu::always_inline]] static inline Vector load(const float* from) {
    return *reinterpret_cast<const Vector*>(from);
  }
  [[gnu::always_inline]] static inline void store(float* to, Vector value) {
    *reinterpret_cast<Vector*>(to) = value;
  }
  /// Loads and stores vectors from and to any address.
  [[gnu::always_inline]] static inline Vector load_any(const float* from) {
    return *reinterpret_cast<const AnyVector*>(from);
  }
  [[gnu::always_inline]] static inline void store_any(float* to, Vector value) {
    *reinterpret_cast<AnyVector*>(to) = value;
  }
  [[gnu::always_inline]] static inline Vector all(float value) { return Vector{} + value; }
};

/// A matrix of factors that are read one by one: steps from row to row and from one to the next of a sum.
struct Factors {
  const float* first;
  int64_t of_row, of_depth;
};

/// The matrix whose rows are read as vectors, one after the other, and the one that grows.
struct Panel {
  const float* first;
  int64_t of_depth;
};
struct Result {
  float* first;
  int64_t of_row;
  bool adds;  // to what is there
};

/// Requires: products that are added get fused (CMakeLists.txt); rows of panel and result begin at multiples
/// of a vector's bytes.
template <int lanes>
struct Products {
  using By = Vectors<lanes>;
  using Vector = typename By::Vector;

  /// result [rows, vectors x lanes] = factors [rows, depth] x panel [depth, vectors x lanes]
  template <int rows, int vectors>
  [[gnu::always_inline]] static inline void block(const Factors& by, const Panel& panel, const Result& result,
                                                  int64_t depth) {
    Vector sums[rows][vectors] = {};
    const float *factor = by.first, *from = panel.first;
    for (int64_t step = 0; step < depth; ++step) {
      Vector numbers[vectors];
#pragma GCC unroll 4
      for (int i = 0; i < vectors; ++i) numbers[i] = By::load(from + i * lanes);
#pragma GCC unroll 16
      for (int row = 0; row < rows; ++row) {
        const Vector same = By::all(factor[row * by.of_row]);
#pragma GCC unroll 4
        for (int i = 0; i < vectors; ++i) sums[row][i] = same * numbers[i] + sums[row][i];
      }
      factor += by.of_depth;
      from += panel.of_depth;
    }
#pragma GCC unroll 16
    for (int row = 0; row < rows; ++row) {
#pragma GCC unroll 4
      for (int i = 0; i < vectors; ++i) {
        float* const to = result.first + row * result.of_row + i * lanes;
        By::store(to, result.adds ? By::load(to) + sums[row][i] : sums[row][i]);
      }
    }
  }

  /// All rows of so many vectors. Requires: a multiple of 4 rows.
  template <int vectors>
  static void columns(Factors by, const Panel& panel, Result result, int64_t rows, int64_t depth) {
    constexpr int most = lanes / vectors < 8 ? 4 : lanes / vectors;  // a multiple of 4
    for (; rows >= most; rows -= most) take<most, vectors>(by, panel, result, depth);
    if constexpr (most > 4)
      for (; rows >= 4; rows -= 4) take<4, vectors>(by, panel, result, depth);
  }

  template <int rows, int vectors>
  [[gnu::always_inline]] static inline void take(Factors& by, const Panel& panel, Result& result,
                                                 int64_t depth) {
    block<rows, vectors>(by, panel, result, depth);
    by.first += rows * by.of_row;
    result.first += rows * result.of_row;
  }

  /// Requires: multiples of 4 rows and of 16 numbers.
  static void multiply(const Factors& by, Panel panel, Result result, int64_t rows, int64_t width,
                       int64_t depth) {
    constexpr int most = lanes == 16 ? 4 : 2;
    int64_t vectors = width / lanes;
    while (vectors >= most) {
      columns<most>(by, panel, result, rows, depth);
      panel.first += most * lanes;
      result.first += most * lanes;
      vectors -= most;
    }
    if constexpr (most > 2) {
      if (vectors == 3) columns<3>(by, panel, result, rows, depth);
      if (vectors == 2) columns<2>(by, panel, result, rows, depth);
    }
    if (vectors == 1) columns<1>(by, panel, result, rows, depth);
  }
};

}  // namespace larmor::vectors
