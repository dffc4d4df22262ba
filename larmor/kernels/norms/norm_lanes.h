// Rows of lanes: what the loops of norms read and write a piece by. For sources that are built for every CPU
// (CMakeLists.txt); what their marked loops call is always inlined.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "larmor/kernels/norms/group_norm_silu_cpu.h"

namespace larmor::group_norms {

[[gnu::always_inline]] inline float load(float element) { return element; }
[[gnu::always_inline]] inline double load(double element) { return element; }
[[gnu::always_inline]] inline float load(Bfloat16 element) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(element) << 16);
}

[[gnu::always_inline]] inline void store(float& element, float value) { element = value; }
[[gnu::always_inline]] inline void store(float& element, double value) {
  element = static_cast<float>(value);
}
[[gnu::always_inline]] inline void store(double& element, double value) { element = value; }
/// Rounded to the nearest, to even ones between two; not a number stays none.
[[gnu::always_inline]] inline void store(Bfloat16& element, float value) {
  constexpr uint32_t not_a_number = 0x7FC0, sign = 0x80000000, infinity = 0x7F800000;
  const auto bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  element = static_cast<Bfloat16>((bits & ~sign) > infinity ? not_a_number : rounded);
}

/// Coefficients of the lanes of a row.
template <class Number>
struct Lanes {
  explicit Lanes(int64_t of_a_row) : width(of_a_row), numbers(static_cast<size_t>(of_a_row) * 5) {}

  void fill(const Coefficients<Number>& by, const Piece& piece, int64_t columns, bool with_gradient) {
    const std::vector<Number>* const all[] = {&by.centre, &by.scale, &by.shift, &by.slope, &by.offset};
    for (int64_t kind = 0; kind < (with_gradient ? 5 : 3); ++kind) {
      const Number* const from = all[kind]->data() + piece.channel;
      Number* const lanes = numbers.data() + kind * width;
      const int64_t used = std::min(width, piece.elements);
      if (columns == 1) {
        std::fill(lanes, lanes + used, *from);
      } else {
        for (int64_t lane = 0; lane < used; lane += columns) std::copy(from, from + columns, lanes + lane);
      }
    }
  }

  const Number* centre() const { return numbers.data(); }
  const Number* scale() const { return numbers.data() + width; }
  const Number* shift() const { return numbers.data() + 2 * width; }
  const Number* slope() const { return numbers.data() + 3 * width; }
  const Number* offset() const { return numbers.data() + 4 * width; }

  int64_t width;
  std::vector<Number> numbers;
};

/// Calls visit(place of the first element, rows, width) for the whole rows of a piece and for what is left.
template <class Visit>
void for_rows(const Piece& piece, int64_t width, const Visit& visit) {
  const int64_t rows = piece.elements / width, rest = piece.elements % width;
  if (rows > 0) visit(piece.first, rows, width);
  if (rest > 0) visit(piece.first + rows * width, int64_t{1}, rest);
}

/// The sum of all lanes, halves onto halves; they are changed.
template <class Number>
Number sum_of(Number* lanes, int64_t count) {
  while (count > 1) {
    const int64_t half = count / 2;
    const Number* const upper = lanes + (count - half);
    for (int64_t i = 0; i < half; ++i) lanes[i] += upper[i];
    count -= half;
  }
  return *lanes;
}

/// Adds the lanes of each channel; they are changed.
template <class Number>
void fold(std::vector<Number>& lanes, int64_t columns, std::vector<double>& sums) {
  if (columns == 1) {
    sums.front() = static_cast<double>(sum_of(lanes.data(), static_cast<int64_t>(lanes.size())));
    return;
  }
  std::fill(sums.begin(), sums.end(), 0.0);
  for (size_t lane = 0; lane < lanes.size(); lane += static_cast<size_t>(columns)) {
    for (size_t channel = 0; channel < sums.size(); ++channel)
      sums[channel] += static_cast<double>(lanes[lane + channel]);
  }
}

}  // namespace larmor::group_norms
