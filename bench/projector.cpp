// One radiograph of a volume, and the gradient of its mean square, by larmor::project() and by libtorch's
// grid_sample at equal distances along each ray, in turns: projector VOLUME IMAGE RAY_STEP_MM PAIRS. The
// second way does what a projector in Python does, with libtorch's own operators and without the time of an
// interpreter.
#include "larmor/kernels/projector/projector.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include "larmor/base/error.h"
#include "larmor/base/json.h"

#include "bench/in_turns.h"

namespace larmor {
namespace {

constexpr double extent = 256, source_to_isocentre = 1000, source_to_detector = 1500;
constexpr int64_t rows_at_a_time = 32;

struct Sizes {
  int64_t volume, image;
  double ray_step;
};

RadiographView view_of(const Sizes& sizes, double degrees) {
  const double pixel = 1.6 * extent / static_cast<double>(sizes.image);
  return {.beam = Beam::cone,
          .degrees = degrees,
          .pixels = {sizes.image, sizes.image},
          .spacing = {pixel, pixel},
          .source_to_isocentre = source_to_isocentre,
          .source_to_detector = source_to_detector};
}

at::Tensor ours(const at::Tensor& volume, const Sizes& sizes, double degrees) {
  VoxelPositions positions{};
  const double spacing = extent / static_cast<double>(sizes.volume);
  for (size_t i = 0; i < 3; ++i) {
    positions[i][i] = spacing;
    positions[i][3] = -0.5 * static_cast<double>(sizes.volume - 1) * spacing;
  }
  return project(volume, ray_geometry({view_of(sizes, degrees)}, positions), sizes.image, sizes.image);
}

/// Points of the rays of some rows through the sphere around the volume, as grid_sample takes them.
at::Tensor points(const Sizes& sizes, const RadiographView& view, int64_t first_row, int64_t rows) {
  const double angle = view.degrees * M_PI / 180, radius = extent * std::sqrt(3.0) / 2;
  const at::Tensor beam = at::tensor({std::sin(angle), std::cos(angle), 0.0}, at::kFloat);
  const at::Tensor across = at::tensor({-std::cos(angle), std::sin(angle), 0.0}, at::kFloat);
  const at::Tensor down = at::tensor({0.0, 0.0, -1.0}, at::kFloat);
  const double middle = static_cast<double>(sizes.image - 1) / 2;
  const at::Tensor row = (at::arange(first_row, first_row + rows, at::kFloat) - middle) * view.spacing[0];
  const at::Tensor column = (at::arange(sizes.image, at::kFloat) - middle) * view.spacing[1];
  const at::Tensor pixel =
      source_to_detector * beam + column.view({1, -1, 1}) * across + row.view({-1, 1, 1}) * down;
  const at::Tensor direction = pixel / pixel.norm(2, {-1}, true);
  const at::Tensor origin = (-source_to_isocentre * beam).expand_as(direction);
  const at::Tensor enters = -(origin * direction).sum(-1, true) - radius;
  const auto count = static_cast<int64_t>(std::ceil(2 * radius / sizes.ray_step));
  const at::Tensor along = (at::arange(count, at::kFloat) + 0.5) * sizes.ray_step;
  const at::Tensor position =
      origin.unsqueeze(2) + (enters.unsqueeze(2) + along.view({-1, 1})) * direction.unsqueeze(2);
  return (2 * position / extent).flip({-1}).reshape({1, -1, sizes.image, count, 3});
}

at::Tensor sampled(const at::Tensor& volume, const Sizes& sizes, double degrees) {
  const RadiographView view = view_of(sizes, degrees);
  std::vector<at::Tensor> rows;
  for (int64_t first = 0; first < sizes.image; first += rows_at_a_time) {
    const int64_t count = std::min(rows_at_a_time, sizes.image - first);
    const at::Tensor values = at::grid_sampler(volume.unsqueeze(1), points(sizes, view, first, count),
                                               /*interpolation: bilinear*/ 0, /*padding: zeros*/ 0,
                                               /*align_corners=*/false);
    rows.push_back(values.select(0, 0).select(0, 0).sum(-1) * sizes.ray_step);
  }
  return at::cat(rows).view({1, 1, sizes.image, sizes.image});
}

using Projector = std::function<at::Tensor(const at::Tensor&, const Sizes&, double)>;

double milliseconds(const Projector& projector, const Sizes& sizes, bool backward, int turn) {
  static constexpr double degrees[3] = {0, 90, 30};
  at::Tensor volume = at::rand({1, sizes.volume, sizes.volume, sizes.volume}).requires_grad_(backward);
  const auto begin = std::chrono::steady_clock::now();
  const at::Tensor loss = projector(volume, sizes, degrees[turn % 3]).square().mean();
  if (backward) loss.backward();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

Json measure_pairs(const Sizes& sizes, bool backward, int pairs) {
  std::vector<double> own, peer, ratio;
  milliseconds(ours, sizes, backward, 0);
  for (int turn = 0; turn < pairs; ++turn) {
    // The peer comes first in every second pair.
    const bool peer_first = turn % 2 == 1;
    if (peer_first) peer.push_back(milliseconds(sampled, sizes, backward, turn));
    own.push_back(milliseconds(ours, sizes, backward, turn));
    if (!peer_first) peer.push_back(milliseconds(sampled, sizes, backward, turn));
    ratio.push_back(peer.back() / own.back());
  }
  Json result;
  result["larmor_ms"] = median_of(own);
  result["grid_sample_ms"] = median_of(peer);
  result["times_as_fast"] = median_of(ratio);
  result["times_as_fast_least"] = *std::min_element(ratio.begin(), ratio.end());
  return result;
}

/// The two ways see the same volume: a smooth one, since they interpolate differently.
double relative_difference(const Sizes& sizes) {
  const at::Tensor line = at::linspace(-1, 1, sizes.volume, at::kFloat);
  const at::Tensor volume =
      at::exp(-4 * (line.view({-1, 1, 1}).square() + line.view({-1, 1}).square() + (line - 0.2).square()))
          .unsqueeze(0);
  const at::Tensor own = ours(volume, sizes, 30), peer = sampled(volume, sizes, 30);
  return ((own - peer).norm() / peer.norm()).item<double>();
}

}  // namespace
}  // namespace larmor

int main(int count, char** words) {
  if (count != 5) {
    std::cerr << "projector takes VOLUME IMAGE RAY_STEP_MM PAIRS\n";
    return static_cast<int>(larmor::Exit::usage);
  }
  at::set_num_threads(1);
  const larmor::Sizes sizes{std::stoll(words[1]), std::stoll(words[2]), std::stod(words[3])};
  const int pairs = std::stoi(words[4]);
  larmor::Json result;
  result["relative_difference"] = larmor::relative_difference(sizes);
  result["forward"] = larmor::measure_pairs(sizes, false, pairs);
  result["backward"] = larmor::measure_pairs(sizes, true, pairs);
  std::cout << result.dump() << "\n";
  return 0;
}
