#include "larmor/nn/diffusion/timesteps.h"

#include <algorithm>
#include <cmath>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::nn {
namespace {

/// The nearest whole number; a half goes to the even one, as NumPy rounds.
double rounded(double value) { return std::nearbyint(value); }

void check_steps(int64_t steps, int64_t size) {
  if (steps < 1) fail(Exit::usage, text("sampling in ", steps, " steps"), "ask for 1 step or more");
  if (steps > size)
    fail(Exit::usage, text("sampling in ", steps, " steps, and the noise schedule has ", size),
         text("ask for at most ", size, " steps"));
}

void check_offset(const std::vector<double>& times, int64_t offset, int64_t size) {
  if (offset >= 0 && times.front() < static_cast<double>(size)) return;
  fail(Exit::usage,
       text("steps_offset=", offset, " moves the first sampling step to ", times.front(),
            " of a schedule of ", size),
       "leave steps_offset at 0");
}

/// 0, stride, 2 stride, … in descending order, `offset` higher.
std::vector<double> leading(int64_t count, int64_t stride, int64_t offset) {
  std::vector<double> times;
  for (int64_t i = count; i-- > 0;) times.push_back(static_cast<double>(i * stride + offset));
  return times;
}

/// From the last time step to the first one, both included.
std::vector<double> linspace(int64_t count, int64_t size) {
  std::vector<double> times;
  const double stride = count == 1 ? 0 : static_cast<double>(size - 1) / static_cast<double>(count - 1);
  for (int64_t i = count; i-- > 0;) times.push_back(static_cast<double>(i) * stride);
  return times;
}

/// From the last time step on, evenly, without the first one.
std::vector<double> trailing(int64_t steps, int64_t size) {
  std::vector<double> times;
  const double stride = static_cast<double>(size) / static_cast<double>(steps);
  for (int64_t i = 0; i < steps; ++i)
    times.push_back(rounded(static_cast<double>(size) - static_cast<double>(i) * stride) - 1);
  return times;
}

std::vector<double> all_rounded(std::vector<double> times) {
  std::ranges::transform(times, times.begin(), rounded);
  return times;
}

/// Whole numbers from `count` even points, rounded up. In float32, in which the lists were first made: where
/// a point falls on a whole number its rounding decides.
std::vector<int64_t> ceiled(float first, float last, int64_t count) {
  std::vector<int64_t> times;
  const float stride = count < 2 ? 0 : (last - first) / static_cast<float>(count - 1);
  for (int64_t i = 0; i < count; ++i) {
    const float point = i < count / 2 ? first + stride * static_cast<float>(i)
                                      : last - stride * static_cast<float>(count - 1 - i);
    times.push_back(static_cast<int64_t>(std::ceil(point)));
  }
  return times;
}

/// Every size / steps of them, from `first` on.
std::vector<int64_t> every(int64_t first, int64_t steps, int64_t size) {
  std::vector<int64_t> times;
  for (int64_t time = first; time < size; time += size / steps) times.push_back(std::max<int64_t>(time, 0));
  return times;
}

std::vector<int64_t> non_uniform(int64_t steps, int64_t size) {
  // Of a thousand; a schedule of another length is divided in the same proportions.
  const auto scaled = [&](int64_t time) { return ((time + 1) * size + 500) / 1000 - 1; };
  if (steps == 10) {
    std::vector<int64_t> times;
    for (const int64_t time : {-1, 199, 399, 599, 699, 799, 849, 899, 949, 999})
      times.push_back(std::max<int64_t>(scaled(time), 0));
    return times;
  }
  const auto low = static_cast<int64_t>(static_cast<double>(steps) * 0.4);
  const auto high = static_cast<int64_t>(static_cast<double>(steps) * 0.6);
  const auto middle = static_cast<float>(scaled(699)), end = static_cast<float>(scaled(999));
  std::vector<int64_t> times = ceiled(0, middle, low + 1);
  times.pop_back();
  for (const int64_t time : ceiled(middle, end, high)) times.push_back(time);
  return times;
}

}  // namespace

std::vector<double> spaced_timesteps(TimestepSpacing spacing, int64_t steps, int64_t size, int64_t offset) {
  return all_rounded(euler_timesteps(spacing, steps, size, offset));
}

std::vector<double> dpm_solver_timesteps(TimestepSpacing spacing, int64_t steps, int64_t size,
                                         int64_t offset) {
  check_steps(steps, size);
  if (spacing == TimestepSpacing::trailing) return trailing(steps, size);
  if (steps == size)
    fail(Exit::usage,
         text("DPM-Solver++ cannot take all ", size, " steps of the noise schedule with this spacing"),
         text("ask for at most ", size - 1, " steps, or for timestep_spacing=trailing"));
  const bool is_leading = spacing == TimestepSpacing::leading;
  std::vector<double> times =
      is_leading ? leading(steps + 1, size / (steps + 1), offset) : all_rounded(linspace(steps + 1, size));
  times.pop_back();
  check_offset(times, offset, size);
  return times;
}

std::vector<double> euler_timesteps(TimestepSpacing spacing, int64_t steps, int64_t size, int64_t offset) {
  check_steps(steps, size);
  if (spacing == TimestepSpacing::trailing) return trailing(steps, size);
  if (spacing == TimestepSpacing::linspace) return linspace(steps, size);
  std::vector<double> times = leading(steps, size / steps, offset);
  check_offset(times, offset, size);
  return times;
}

std::vector<double> flow_timesteps(int64_t steps, int64_t size) {
  check_steps(steps, size);
  std::vector<double> times;
  for (int64_t i = steps; i > 0; --i)
    times.push_back(static_cast<double>(size) * static_cast<double>(i) / static_cast<double>(steps));
  return times;
}

std::vector<int64_t> fast_ddpm_timesteps(FastDdpmTimesteps kind, int64_t steps, int64_t size) {
  check_steps(steps, size);
  switch (kind) {
    case FastDdpmTimesteps::uniform:
      return every(-1, steps, size);
    case FastDdpmTimesteps::uniform_from_zero:
      return every(0, steps, size);
    case FastDdpmTimesteps::non_uniform:
      break;
  }
  std::vector<int64_t> times = non_uniform(steps, size);
  if (steps < 4 || std::ranges::adjacent_find(times, std::greater_equal{}) != times.end())
    fail(Exit::usage,
         text("a non-uniform list of ", steps, " time steps among the ", size, " of the noise schedule"),
         "ask for 4 steps or more, well below the schedule's number, or take a uniform list");
  return times;
}

std::vector<double> descending(const std::vector<int64_t>& timesteps) {
  return {timesteps.rbegin(), timesteps.rend()};
}

}  // namespace larmor::nn
