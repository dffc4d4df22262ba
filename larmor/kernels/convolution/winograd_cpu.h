// The loops of convolutions by Winograd's minimal filtering on CPUs. No libtorch: stretches of memory and
// sizes.
#pragma once

#include <cstdint>

namespace larmor::winograd {

/// A tile is a cube of two voxels an edge of the result. It reads four an edge, which become as many points.
inline constexpr int64_t tile_edge = 2, read_edge = 4, points = 64, kernel_voxels = 27;
/// Channels are taken so many at a time.
inline constexpr int64_t channel_step = 16;
/// Tiles are taken in blocks of so many, whose points stay in the second cache.
inline constexpr int64_t block_tiles = 24;

// What these types compute is always inlined: the linker would take a copy made for wide vectors for every
// CPU.

/// A kernel of 3³ voxels in steps of one, over zeros one voxel wide: results are as large as volumes. Volumes
/// are [samples, depth, height, width, in], results [samples, depth, height, width, out].
struct Shape {
  int64_t samples, depth, height, width, in, out;

  [[gnu::always_inline]] static int64_t tiles_along(int64_t voxels) {
    return (voxels + tile_edge - 1) / tile_edge;
  }
  [[gnu::always_inline]] int64_t tiles() const {
    return samples * tiles_along(depth) * tiles_along(height) * tiles_along(width);
  }
  [[gnu::always_inline]] int64_t blocks() const { return (tiles() + block_tiles - 1) / block_tiles; }
};

/// How far the numbers of one point of a block lie from those of the next. One line of a cache more than they
/// need: otherwise all points of a tile would lie in few sets of the first cache.
[[gnu::always_inline]] inline int64_t point_step(int64_t channels) {
  return block_tiles * channels + channel_step;
}

/// The same for the points of kernels, [in, out] or [out, in] each.
[[gnu::always_inline]] inline int64_t kernel_step(const Shape& shape) {
  return shape.in * shape.out + channel_step;
}

/// Numbers that a thread needs beside for blocks, at an address that 64 divides.
int64_t workspace(const Shape& shape);

/// The number of parts into which the blocks are cut for the gradient of the kernel, each with sums of its
/// own: by the sizes alone, since bits depend on it.
int64_t parts_of(const Shape& shape);

struct Convolution {
  Shape shape;
  const float* volumes;
  const float* kernel;  // its points, [points, in, out], a kernel_step() from one to the next
  const float* bias;    // [out], or null
  float* results;
};

struct KernelGradient {
  Shape shape;
  const float *volumes, *gradient;  // of the results
  int64_t parts;
  float* sums;       // [parts, points, in, out], a kernel_step() from one point to the next
  float* bias_sums;  // [parts, out]
};

/// The loops for one width of vectors; their bits are alike, because no sum goes across lanes and every
/// product that is added is fused. Tasks write different results, so any threads may share them in any way.
struct Loops {
  /// The points of a kernel [out, 3, 3, 3, in], as Convolution has them, for outputs of so many
  /// `channel_step`s.
  void (*kernel_points)(const float* kernel, const Shape& shape, int64_t first, int64_t end, float* to);
  /// The points of the kernel that takes gradients of results to those of volumes: the other way round along
  /// each axis, [points, out, in], for outputs `first` to `end`.
  void (*turned_kernel_points)(const float* kernel, const Shape& shape, int64_t first, int64_t end,
                               float* to);
  /// Results of blocks.
  void (*convolve)(const Convolution& with, int64_t first, int64_t end, float* workspace);
  /// Sums of parts.
  void (*add_products)(const KernelGradient& with, int64_t first, int64_t end, float* workspace);
  /// The step from the sums of all parts to the gradient of the kernel, [out, 3, 3, 3, in], for outputs of so
  /// many `channel_step`s.
  void (*kernel_gradient)(const KernelGradient& with, int64_t first, int64_t end, float* of_kernel);
};

/// Requires: a CPU with AVX-512 (F, VL, DQ, BW), or with AVX2 and FMA.
Loops loops_by_avx512();
Loops loops_by_avx2();

}  // namespace larmor::winograd
