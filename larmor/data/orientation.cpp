#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/transforms.h"

namespace larmor {

namespace {

struct Direction {
  int world = 0;  // 0: left-right, 1: posterior-anterior, 2: inferior-superior
  bool positive = true;
};
using Directions = std::array<Direction, 3>;

Directions directions_of_codes(const std::string& axcodes) {
  constexpr std::array<std::string_view, 3> letters{"LR", "PA", "IS"};
  Directions directions;
  std::array<bool, 3> seen{};
  bool good = axcodes.size() == 3;
  for (std::size_t axis = 0; good && axis < 3; ++axis) {
    const auto world = std::find_if(letters.begin(), letters.end(), [&](std::string_view pair) {
      return pair.find(axcodes[axis]) != std::string_view::npos;
    });
    good = world != letters.end() &&
           !std::exchange(seen[static_cast<std::size_t>(world - letters.begin())], true);
    if (good) directions[axis] = {static_cast<int>(world - letters.begin()), axcodes[axis] == (*world)[1]};
  }
  if (!good) {
    fail(Exit::usage,
         text("Orientation: axcodes \"", axcodes, "\" is not one of L/R, one of P/A and one of I/S"),
         "\"RAS\" is the usual one");
  }
  return directions;
}

/// The rotation nearest to the affine with its spacing taken out: the orthogonal factor of its polar
/// decomposition, by Newton's iteration.
Affine nearest_rotation(const Affine& affine) {
  Affine rotation = affine;
  const auto spacing = spacing_of(affine);
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) rotation[row][column] /= spacing[column];
    rotation[row][3] = 0;
  }
  constexpr int most_steps = 50;  // converges quadratically: about 6 unless the affine is nearly singular
  for (int step = 0; step < most_steps; ++step) {
    const auto inverted = inverse(rotation);
    if (!inverted)
      fail(Exit::data, "the affine is singular, so its axes have no direction", "correct the file's header");
    double change = 0;
    for (int row = 0; row < 3; ++row) {
      for (int column = 0; column < 3; ++column) {
        const double next = 0.5 * (rotation[row][column] + (*inverted)[column][row]);
        change = std::max(change, std::abs(next - rotation[row][column]));
        rotation[row][column] = next;
      }
    }
    if (change < 1e-14) break;
  }
  return rotation;
}

/// The strongest axis chooses first; the first axis does when they are equally strong.
Directions directions_of_affine(const Affine& affine) {
  const Affine rotation = nearest_rotation(affine);
  std::array<double, 3> strength{};
  for (int row = 0; row < 3; ++row) {
    for (int axis = 0; axis < 3; ++axis) {
      strength[axis] = std::max(strength[axis], rotation[row][axis] * rotation[row][axis]);
    }
  }
  std::array<int, 3> order{0, 1, 2};
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return strength[a] > strength[b]; });
  Directions directions;
  std::array<bool, 3> taken{};
  for (const int axis : order) {
    int best = -1;
    for (int row = 0; row < 3; ++row) {
      if (!taken[row] && (best < 0 || std::abs(rotation[row][axis]) > std::abs(rotation[best][axis])))
        best = row;
    }
    taken[best] = true;
    directions[axis] = {best, rotation[best][axis] >= 0};
  }
  return directions;
}

void copy_row(const float* source, float* target, int64_t size, bool flip) {
  if (flip) {
    std::reverse_copy(source, source + size, target);
  } else {
    std::copy(source, source + size, target);
  }
}

/// A copy with some of the axes 1 to 3 turned round, its strides as dense as the source's order of axes
/// allows, so that rows stay rows.
at::Tensor flipped(const at::Tensor& voxels, const std::array<bool, 3>& flip) {
  std::array<int64_t, 4> order{0, 1, 2, 3};
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return voxels.stride(a) > voxels.stride(b); });
  if (voxels.stride(order[3]) != 1) return flipped(voxels.contiguous(), flip);
  std::array<int64_t, 4> strides{};
  int64_t dense = 1;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    strides[static_cast<std::size_t>(*axis)] = dense;
    dense *= voxels.size(*axis);
  }
  at::Tensor result = at::empty_strided(voxels.sizes(), strides, voxels.options());
  const at::Tensor rows = voxels.permute(order), target_rows = result.permute(order);
  std::array<bool, 4> turned{};
  for (std::size_t i = 0; i < 4; ++i)
    turned[i] = order[i] > 0 && flip[static_cast<std::size_t>(order[i] - 1)];
  const auto* const source = voxels.const_data_ptr<float>();
  auto* const target = result.mutable_data_ptr<float>();
  const auto place = [&](int axis, int64_t i) {
    return rows.stride(axis) * (turned[static_cast<std::size_t>(axis)] ? rows.size(axis) - 1 - i : i);
  };
  for (int64_t a = 0; a < rows.size(0); ++a) {
    for (int64_t b = 0; b < rows.size(1); ++b) {
      for (int64_t c = 0; c < rows.size(2); ++c) {
        copy_row(source + place(0, a) + place(1, b) + place(2, c),
                 target + a * target_rows.stride(0) + b * target_rows.stride(1) + c * target_rows.stride(2),
                 rows.size(3), turned[3]);
      }
    }
  }
  return result;
}

}  // namespace

void check_axcodes(const std::string& axcodes) { directions_of_codes(axcodes); }

Volume orient(const Volume& volume, const std::string& axcodes) {
  const Directions wanted = directions_of_codes(axcodes), present = directions_of_affine(volume.affine);
  std::array<bool, 3> flip{};                // by source axis
  std::array<int64_t, 4> order{0, 0, 0, 0};  // source axis of each result axis, channel first
  Affine to_source{};                        // result index to source index
  to_source[3][3] = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (std::size_t source = 0; source < 3; ++source) {
      if (present[source].world != wanted[axis].world) continue;
      order[axis + 1] = static_cast<int64_t>(source) + 1;
      flip[source] = present[source].positive != wanted[axis].positive;
      to_source[source][axis] = flip[source] ? -1 : 1;
      to_source[source][3] = flip[source] ? static_cast<double>(volume.voxels.size(order[axis + 1]) - 1) : 0;
    }
  }
  at::Tensor voxels = volume.voxels;
  if (std::any_of(flip.begin(), flip.end(), [](bool turned) { return turned; })) {
    voxels = flipped(voxels, flip);
  }
  return {voxels.permute(order), compose(volume.affine, to_source)};
}

}  // namespace larmor
