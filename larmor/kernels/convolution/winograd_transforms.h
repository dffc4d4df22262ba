// What Winograd's minimal filtering F(2, 3) takes volumes, kernels and results through: one short transform
// along each axis of a cube. As in vector_products.h, everything is a member of a template over the lanes,
// which are channels here.
#pragma once

#include "larmor/kernels/vector_products.h"

namespace larmor::winograd {

/// The transforms of a line. The points of a product with a kernel are 0, 1, -1 and infinity (Lavin and Gray,
/// 2016).
template <class Vector>
struct VolumeLine {
  static constexpr int from = 4, to = 4;
  [[gnu::always_inline]] static inline void run(const Vector (&x)[4], Vector (&y)[4]) {
    y[0] = x[0] - x[2];
    y[1] = x[1] + x[2];
    y[2] = x[2] - x[1];
    y[3] = x[1] - x[3];
  }
};

template <class Vector>
struct ResultLine {
  static constexpr int from = 4, to = 2;
  [[gnu::always_inline]] static inline void run(const Vector (&x)[4], Vector (&y)[2]) {
    y[0] = x[0] + x[1] + x[2];
    y[1] = x[1] - x[2] - x[3];
  }
};

/// The adjoint of ResultLine.
template <class Vector>
struct GradientLine {
  static constexpr int from = 2, to = 4;
  [[gnu::always_inline]] static inline void run(const Vector (&x)[2], Vector (&y)[4]) {
    y[0] = x[0];
    y[1] = x[0] + x[1];
    y[2] = x[0] - x[1];
    y[3] = -x[1];
  }
};

template <class Vector>
struct KernelLine {
  static constexpr int from = 3, to = 4;
  [[gnu::always_inline]] static inline void run(const Vector (&x)[3], Vector (&y)[4]) {
    const Vector ends = (x[0] + x[2]) * 0.5F, middle = x[1] * 0.5F;
    y[0] = x[0];
    y[1] = ends + middle;
    y[2] = ends - middle;
    y[3] = x[2];
  }
};

/// The adjoint of KernelLine.
template <class Vector>
struct KernelGradientLine {
  static constexpr int from = 4, to = 3;
  [[gnu::always_inline]] static inline void run(const Vector (&x)[4], Vector (&y)[3]) {
    const Vector ends = (x[1] + x[2]) * 0.5F;
    y[0] = x[0] + ends;
    y[1] = (x[1] - x[2]) * 0.5F;
    y[2] = ends + x[3];
  }
};

template <int lanes>
struct Transforms {
  using Vector = typename vectors::Vectors<lanes>::Vector;

  /// write(place, number) for the cube of `Line::to` an edge that Line makes along each axis of the one of
  /// `Line::from` an edge that read(place) gives. Places go along the last axis first.
  template <class Line, class Read, class Write>
  [[gnu::always_inline]] static inline void along_axes(const Read& read, const Write& write) {
    constexpr int n = Line::from, m = Line::to;
    Vector planes[n][m][m];
    for (int z = 0; z < n; ++z) plane<Line>(z * n * n, read, planes[z]);
#pragma GCC unroll 4
    for (int y = 0; y < m; ++y) {
#pragma GCC unroll 4
      for (int x = 0; x < m; ++x) {
        Vector line[n], found[m];
#pragma GCC unroll 4
        for (int z = 0; z < n; ++z) line[z] = planes[z][y][x];
        Line::run(line, found);
#pragma GCC unroll 4
        for (int z = 0; z < m; ++z) write((z * m + y) * m + x, found[z]);
      }
    }
  }

 private:
  template <class Line, class Read>
  [[gnu::always_inline]] static inline void plane(int first, const Read& read,
                                                  Vector (&to)[Line::to][Line::to]) {
    constexpr int n = Line::from, m = Line::to;
    Vector rows[n][m];
#pragma GCC unroll 4
    for (int y = 0; y < n; ++y) {
      Vector line[n];
#pragma GCC unroll 4
      for (int x = 0; x < n; ++x) line[x] = read(first + y * n + x);
      Line::run(line, rows[y]);
    }
#pragma GCC unroll 4
    for (int x = 0; x < m; ++x) {
      Vector line[n], found[m];
#pragma GCC unroll 4
      for (int y = 0; y < n; ++y) line[y] = rows[y][x];
      Line::run(line, found);
#pragma GCC unroll 4
      for (int y = 0; y < m; ++y) to[y][x] = found[y];
    }
  }
};

}  // namespace larmor::winograd
