#include "larmor/kernels/convolution/column_conv_cpu.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace larmor::conv_columns {
namespace {

template <class Element>
Element one() {
  if constexpr (sizeof(Element) == sizeof(float))
    return 1;
  else
    return Element{0x3f80};
}

float number_of(float element) { return element; }
float number_of(Bfloat16 element) { return std::bit_cast<float>(static_cast<uint32_t>(element) << 16); }

template <class Element>
Element* fill_zeros(Element* to, int64_t count) {
  std::memset(to, 0, static_cast<std::size_t>(count) * sizeof(Element));
  return to + count;
}

template <class Element>
LARMOR_EVERY_CPU void add(const Element* __restrict from, int64_t count, float* __restrict sums) {
  for (int64_t i = 0; i < count; ++i) sums[i] += number_of(from[i]);
}

/// The place along `axis` that a tap of result `at` sees; out of the image where it is padding.
int64_t seen(const Shape& shape, std::size_t axis, int64_t at, int64_t tap) {
  return at * shape.stride[axis] - shape.padding[axis] + tap;
}

/// The result along `axis` whose `tap` sees the place `at`; -1 where there is none.
int64_t seeing(const Shape& shape, std::size_t axis, int64_t at, int64_t tap) {
  const int64_t steps = at + shape.padding[axis] - tap;
  if (steps < 0 || steps % shape.stride[axis] != 0) return -1;
  const int64_t result = steps / shape.stride[axis];
  return result < shape.result[axis] ? result : -1;
}

/// What a row of the kernel sees of a row of the image, from place `start` on.
template <class Element>
Element* copy_window(const Shape& shape, const Element* row, int64_t start, Element* to) {
  const int64_t kernel = shape.kernel[2], width = shape.image[2];
  const int64_t left = std::clamp<int64_t>(-start, 0, kernel);
  const int64_t right = std::clamp<int64_t>(width - start, left, kernel);
  to = fill_zeros(to, left * shape.channels);
  const int64_t count = (right - left) * shape.channels;
  if (count > 0) to = std::copy_n(row + (start + left) * shape.channels, count, to);
  return fill_zeros(to, (kernel - right) * shape.channels);
}

/// One row of results, from one matrix to the next row's.
template <class Element>
void gather_row(const Shape& shape, const Element* volumes, int64_t row, int64_t pitch, Element* matrix) {
  const int64_t height = row % shape.result[1], depth = row / shape.result[1] % shape.result[0],
                sample = row / (shape.result[0] * shape.result[1]);
  const int64_t row_numbers = shape.image[2] * shape.channels;
  for (int64_t x = 0; x < shape.row_length(); ++x) {
    Element* to = matrix + x * pitch;
    Element* const end = to + pitch;
    for (int64_t a = 0; a < shape.kernel[0]; ++a) {
      const int64_t d = seen(shape, 0, depth, a);
      for (int64_t b = 0; b < shape.kernel[1]; ++b) {
        const int64_t h = seen(shape, 1, height, b);
        if (d < 0 || d >= shape.image[0] || h < 0 || h >= shape.image[1]) {
          to = fill_zeros(to, shape.kernel[2] * shape.channels);
          continue;
        }
        const int64_t image_row = (sample * shape.image[0] + d) * shape.image[1] + h;
        to = copy_window(shape, volumes + image_row * row_numbers, seen(shape, 2, x, 0), to);
      }
    }
    *to++ = one<Element>();
    fill_zeros(to, end - to);
  }
}

/// What a row of the kernel, whose first tap is `tap`, gives to a row of the image.
template <class Element>
void scatter_row(const Shape& shape, const Element* matrix, int64_t pitch, int64_t tap, float* sums) {
  for (int64_t c = 0; c < shape.kernel[2]; ++c) {
    for (int64_t x = 0; x < shape.row_length(); ++x) {
      const int64_t place = seen(shape, 2, x, c);
      if (place < 0 || place >= shape.image[2]) continue;
      add(matrix + x * pitch + (tap + c) * shape.channels, shape.channels, sums + place * shape.channels);
    }
  }
}

}  // namespace

template <class Element>
void gather(const Shape& shape, const Stretch& stretch, const Element* volumes, int64_t first, int64_t end,
            Element* matrix) {
  const int64_t row_numbers = shape.row_length() * stretch.pitch;
  for (int64_t row = first; row < end; ++row)
    gather_row(shape, volumes, row, stretch.pitch, matrix + (row - stretch.first) * row_numbers);
}

template <class Element>
void scatter(const Shape& shape, const Stretch& stretch, const Element* matrix, int64_t first, int64_t end,
             float* sums) {
  const int64_t row_numbers = shape.row_length() * stretch.pitch;
  for (int64_t image_row = first; image_row < end; ++image_row) {
    const int64_t h = image_row % shape.image[1], d = image_row / shape.image[1] % shape.image[0],
                  sample = image_row / (shape.image[0] * shape.image[1]);
    float* const to = sums + image_row * shape.image[2] * shape.channels;
    for (int64_t a = 0; a < shape.kernel[0]; ++a) {
      const int64_t depth = seeing(shape, 0, d, a);
      for (int64_t b = 0; b < shape.kernel[1] && depth >= 0; ++b) {
        const int64_t height = seeing(shape, 1, h, b);
        const int64_t row = (sample * shape.result[0] + depth) * shape.result[1] + height;
        if (height < 0 || row < stretch.first || row >= stretch.end) continue;
        scatter_row(shape, matrix + (row - stretch.first) * row_numbers, stretch.pitch,
                    (a * shape.kernel[1] + b) * shape.kernel[2], to);
      }
    }
  }
}

template void gather(const Shape&, const Stretch&, const float*, int64_t, int64_t, float*);
template void gather(const Shape&, const Stretch&, const Bfloat16*, int64_t, int64_t, Bfloat16*);
template void scatter(const Shape&, const Stretch&, const float*, int64_t, int64_t, float*);
template void scatter(const Shape&, const Stretch&, const Bfloat16*, int64_t, int64_t, float*);

}  // namespace larmor::conv_columns
