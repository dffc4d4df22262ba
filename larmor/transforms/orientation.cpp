#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/transforms/grids.h"
#include "larmor/transforms/lazy_volume.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

namespace {

constexpr std::array<std::string_view, 3> axis_letters{"LR", "PA", "IS"};  // against the axis, along it

struct Direction {
  int world = 0;  // 0: left-right, 1: posterior-anterior, 2: inferior-superior
  bool positive = true;
};
using Directions = std::array<Direction, 3>;

Directions directions_of_codes(const std::string& axcodes) {
  Directions directions;
  std::array<bool, 3> seen{};
  bool good = axcodes.size() == 3;
  for (std::size_t axis = 0; good && axis < 3; ++axis) {
    const auto world = std::find_if(axis_letters.begin(), axis_letters.end(), [&](std::string_view pair) {
      return pair.find(axcodes[axis]) != std::string_view::npos;
    });
    good = world != axis_letters.end() &&
           !std::exchange(seen[static_cast<std::size_t>(world - axis_letters.begin())], true);
    if (good)
      directions[axis] = {static_cast<int>(world - axis_letters.begin()), axcodes[axis] == (*world)[1]};
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

}  // namespace

void check_axcodes(const std::string& axcodes) { directions_of_codes(axcodes); }

std::string axcodes_of(const Affine& affine) {
  std::string axcodes;
  for (const Direction& direction : directions_of_affine(affine))
    axcodes += axis_letters[static_cast<std::size_t>(direction.world)][direction.positive ? 1 : 0];
  return axcodes;
}

Turn turn_to(const Affine& affine, const std::string& axcodes) {
  const Directions wanted = directions_of_codes(axcodes), present = directions_of_affine(affine);
  Turn turn;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto old = std::find_if(present.begin(), present.end(), [&](const Direction& direction) {
      return direction.world == wanted[axis].world;
    });
    turn.order[axis] = old - present.begin();
    turn.flip[axis] = old->positive != wanted[axis].positive;
  }
  return turn;
}

Volume orient(const Volume& volume, const std::string& axcodes) {
  LazyVolume lazy(volume);
  lazy.orient(axcodes);
  return lazy.volume();
}

}  // namespace larmor
