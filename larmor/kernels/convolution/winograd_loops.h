// Convolutions by Winograd's minimal filtering, forward and backward, for the source of one width of vectors.
// As in vector_products.h, everything is a member of a template over the lanes.
#pragma once

#include <cstdint>

#include "larmor/kernels/convolution/winograd_cpu.h"
#include "larmor/kernels/convolution/winograd_transforms.h"
#include "larmor/kernels/vector_products.h"

namespace larmor::winograd {

template <int lanes>
struct WinogradLoops {
  using By = vectors::Vectors<lanes>;
  using Vector = typename By::Vector;
  using Transform = Transforms<lanes>;
  using Multiply = vectors::Products<lanes>;

  /// The first voxel of the result of a tile.
  struct Corner {
    int64_t sample, z, y, x;
  };

  /// Which tiles are in a block.
  struct Block {
    int64_t first, tiles;
  };

  [[gnu::always_inline]] static inline Corner corner_of(const Shape& shape, int64_t tile) {
    const int64_t wide = Shape::tiles_along(shape.width), high = Shape::tiles_along(shape.height),
                  deep = Shape::tiles_along(shape.depth);
    const int64_t row = tile / wide, plane = row / high;
    return {.sample = plane / deep,
            .z = plane % deep * tile_edge,
            .y = row % high * tile_edge,
            .x = tile % wide * tile_edge};
  }

  [[gnu::always_inline]] static inline Block block_of(const Shape& shape, int64_t block) {
    const int64_t first = block * block_tiles, left = shape.tiles() - first;
    return {.first = first, .tiles = left < block_tiles ? left : block_tiles};
  }

  /// Where the channels of the voxels of a cube lie; null for those that the volume does not have.
  template <int edge, class Number>
  [[gnu::always_inline]] static inline void find(const Shape& shape, const Corner& first, int64_t channels,
                                                 Number* volumes, Number* (&places)[edge * edge * edge]) {
    const bool is_inside = first.z >= 0 && first.y >= 0 && first.x >= 0 && first.z + edge <= shape.depth &&
                           first.y + edge <= shape.height && first.x + edge <= shape.width;
    const int64_t row = shape.width * channels, plane = shape.height * row;
    const int64_t corner =
        first.sample * shape.depth * plane + first.z * plane + first.y * row + first.x * channels;
    for (int z = 0; z < edge; ++z) {
      for (int y = 0; y < edge; ++y) {
        const int64_t begin = corner + z * plane + y * row;
        const bool has_row = is_inside || (first.z + z >= 0 && first.z + z < shape.depth &&
                                           first.y + y >= 0 && first.y + y < shape.height);
        for (int x = 0; x < edge; ++x) {
          const bool has_voxel = is_inside || (has_row && first.x + x >= 0 && first.x + x < shape.width);
          places[(z * edge + y) * edge + x] = has_voxel ? volumes + begin + x * channels : nullptr;
        }
      }
    }
  }

  /// Channels of a voxel that find() gave; zeros for one outside.
  [[gnu::always_inline]] static inline Vector read_voxel(const float* place, int64_t channel) {
    alignas(64) static constexpr float zeros[channel_step] = {};
    return By::load_any(place == nullptr ? zeros : place + channel);
  }

  /// The points of what a block's tiles read: [points, tiles, in].
  static void take_volumes(const Shape& shape, const float* volumes, const Block& block, float* to) {
    const int64_t step = point_step(shape.in);
    for (int64_t tile = 0; tile < block.tiles; ++tile) {
      Corner corner = corner_of(shape, block.first + tile);
      corner.z -= 1;
      corner.y -= 1;
      corner.x -= 1;
      const float* places[points];
      find<read_edge>(shape, corner, shape.in, volumes, places);
      for (int64_t channel = 0; channel < shape.in; channel += lanes) {
        float* const first = to + tile * shape.in + channel;
        Transform::template along_axes<VolumeLine<Vector>>(
            [&](int place) { return read_voxel(places[place], channel); },
            [&](int place, Vector value) { By::store(first + place * step, value); });
      }
    }
  }

  /// Results from their points [points, tiles, out].
  static void give_results(const Convolution& with, const Block& block, const float* from) {
    const Shape& shape = with.shape;
    const int64_t step = point_step(shape.out);
    for (int64_t tile = 0; tile < block.tiles; ++tile) {
      float* places[tile_edge * tile_edge * tile_edge];
      find<tile_edge>(shape, corner_of(shape, block.first + tile), shape.out, with.results, places);
      for (int64_t channel = 0; channel < shape.out; channel += lanes) {
        const float* const first = from + tile * shape.out + channel;
        const Vector bias = with.bias == nullptr ? Vector{} : By::load_any(with.bias + channel);
        Transform::template along_axes<ResultLine<Vector>>(
            [&](int place) { return By::load(first + place * step); },
            [&](int place, Vector value) {
              if (places[place] != nullptr) By::store_any(places[place] + channel, value + bias);
            });
      }
    }
  }

  /// The points of the gradients of a block's results: [points, tiles, out].
  static void take_gradients(const Shape& shape, const float* gradient, const Block& block, float* to) {
    const int64_t step = point_step(shape.out);
    for (int64_t tile = 0; tile < block.tiles; ++tile) {
      const float* places[tile_edge * tile_edge * tile_edge];
      find<tile_edge>(shape, corner_of(shape, block.first + tile), shape.out, gradient, places);
      for (int64_t channel = 0; channel < shape.out; channel += lanes) {
        float* const first = to + tile * shape.out + channel;
        Transform::template along_axes<GradientLine<Vector>>(
            [&](int place) { return read_voxel(places[place], channel); },
            [&](int place, Vector value) { By::store(first + place * step, value); });
      }
    }
  }

  static void convolve(const Convolution& with, int64_t first, int64_t end, float* workspace) {
    const Shape& shape = with.shape;
    float *const read = workspace, *const made = workspace + points * point_step(shape.in);
    for (int64_t i = first; i < end; ++i) {
      const Block block = block_of(shape, i);
      take_volumes(shape, with.volumes, block, read);
      const int64_t rows = (block.tiles + 3) / 4 * 4;
      for (int64_t point = 0; point < points; ++point) {
        Multiply::multiply({read + point * point_step(shape.in), shape.in, 1},
                           {with.kernel + point * kernel_step(shape), shape.out},
                           {made + point * point_step(shape.out), shape.out, /*adds=*/false}, rows, shape.out,
                           shape.in);
      }
      give_results(with, block, made);
    }
  }

  /// The point whose number is the sum of the gradients of a tile.
  static constexpr int64_t point_of_sums = (1 * read_edge + 1) * read_edge + 1;

  static void add_bias(int64_t out, int64_t tiles, const float* gradients, float* sums) {
    const float* const rows = gradients + point_of_sums * point_step(out);
    for (int64_t channel = 0; channel < out; channel += lanes) {
      Vector sum = By::load_any(sums + channel);
      for (int64_t tile = 0; tile < tiles; ++tile) sum += By::load(rows + tile * out + channel);
      By::store_any(sums + channel, sum);
    }
  }

  static void add_products(const KernelGradient& with, int64_t first, int64_t end, float* workspace) {
    const Shape& shape = with.shape;
    float *const read = workspace, *const slopes = workspace + points * point_step(shape.in);
    const int64_t size = kernel_step(shape), blocks = shape.blocks();
    for (int64_t part = first; part < end; ++part) {
      float *const sums = with.sums + part * points * size, *const bias = with.bias_sums + part * shape.out;
      for (int64_t i = 0; i < shape.out; ++i) bias[i] = 0;
      const int64_t begin = part * blocks / with.parts;
      for (int64_t i = begin; i < (part + 1) * blocks / with.parts; ++i) {
        const Block block = block_of(shape, i);
        take_volumes(shape, with.volumes, block, read);
        take_gradients(shape, with.gradient, block, slopes);
        for (int64_t point = 0; point < points; ++point) {
          Multiply::multiply({read + point * point_step(shape.in), 1, shape.in},
                             {slopes + point * point_step(shape.out), shape.out},
                             {sums + point * size, shape.out, /*adds=*/i > begin}, shape.in, shape.out,
                             block.tiles);
        }
        add_bias(shape.out, block.tiles, slopes, bias);
      }
    }
  }

  static void kernel_points(const float* kernel, const Shape& shape, int64_t first, int64_t end, float* to) {
    const int64_t in = shape.in, out = shape.out, step = kernel_step(shape);
    for (int64_t output = first * channel_step; output < end * channel_step; output += lanes) {
      for (int64_t input = 0; input < in; ++input) {
        const float* const from = kernel + output * kernel_voxels * in + input;
        float* const result = to + input * out + output;
        Transform::template along_axes<KernelLine<Vector>>(
            [&](int place) {
              Vector numbers{};
              for (int lane = 0; lane < lanes; ++lane)
                numbers[lane] = from[(lane * kernel_voxels + place) * in];
              return numbers;
            },
            [&](int place, Vector value) { By::store_any(result + place * step, value); });
      }
    }
  }

  static void turned_kernel_points(const float* kernel, const Shape& shape, int64_t first, int64_t end,
                                   float* to) {
    const int64_t in = shape.in, step = kernel_step(shape);
    for (int64_t output = first; output < end; ++output) {
      for (int64_t input = 0; input < in; input += lanes) {
        const float* const from = kernel + output * kernel_voxels * in + input;
        float* const result = to + output * in + input;
        Transform::template along_axes<KernelLine<Vector>>(
            [&](int place) { return By::load_any(from + (kernel_voxels - 1 - place) * in); },
            [&](int place, Vector value) { By::store_any(result + place * step, value); });
      }
    }
  }

  static void kernel_gradient(const KernelGradient& with, int64_t first, int64_t end, float* of_kernel) {
    const int64_t in = with.shape.in, out = with.shape.out, size = kernel_step(with.shape);
    for (int64_t output = first * channel_step; output < end * channel_step; output += lanes) {
      for (int64_t input = 0; input < in; ++input) {
        const float* const from = with.sums + input * out + output;
        float* const result = of_kernel + output * kernel_voxels * in + input;
        Transform::template along_axes<KernelGradientLine<Vector>>(
            [&](int place) {
              Vector sum = By::load_any(from + place * size);
              for (int64_t part = 1; part < with.parts; ++part)
                sum += By::load_any(from + (part * points + place) * size);
              return sum;
            },
            [&](int place, Vector value) {
              for (int lane = 0; lane < lanes; ++lane)
                result[(lane * kernel_voxels + place) * in] = value[lane];
            });
      }
    }
  }

  static Loops all() {
    return {.kernel_points = kernel_points,
            .turned_kernel_points = turned_kernel_points,
            .convolve = convolve,
            .add_products = add_products,
            .kernel_gradient = kernel_gradient};
  }
};

}  // namespace larmor::winograd
