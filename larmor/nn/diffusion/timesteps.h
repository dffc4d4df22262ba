// Which times a sampler visits, from noise to image.
// Sources: set_timesteps() of diffusers' DDIMScheduler, DPMSolverMultistepScheduler and
// EulerDiscreteScheduler; Fast-DDPM (mirthAI/Fast-DDPM) and its 3-D fork for BraTS.
#pragma once

#include <cstdint>
#include <vector>

namespace larmor::nn {

/// How few steps lie among those of the schedule.
enum class TimestepSpacing { leading, linspace, trailing };

/// Descending, whole numbers below `size`. `offset` is added to each of `leading`. Throws Error (usage): more
/// steps than the schedule has, or an offset that leads beyond its last one.
std::vector<double> spaced_timesteps(TimestepSpacing spacing, int64_t steps, int64_t size,
                                     int64_t offset = 0);
/// The same for DPM-Solver++: `leading` and `linspace` leave out the last of steps + 1 points, which lies at
/// the image.
std::vector<double> dpm_solver_timesteps(TimestepSpacing spacing, int64_t steps, int64_t size,
                                         int64_t offset = 0);
/// The same for Euler's method: the points of `linspace` are not rounded.
std::vector<double> euler_timesteps(TimestepSpacing spacing, int64_t steps, int64_t size, int64_t offset = 0);
/// The times of a straight path: `steps` even steps from pure noise (time `size`) to the image.
std::vector<double> flow_timesteps(int64_t steps, int64_t size);

/// The short lists of Fast-DDPM, which trains on the times that its sampler visits.
enum class FastDdpmTimesteps {
  uniform,            // the paper's: 0, 99, 199, …, 999; one more than asked for
  uniform_from_zero,  // the 3-D fork's: 0, 100, …, 900
  non_uniform,        // two fifths below 699, the others from there to 999
};

/// Ascending, as training draws from it: a position in the list stands for a time. Throws Error (usage): more
/// steps than the schedule has, or too few for the list.
std::vector<int64_t> fast_ddpm_timesteps(FastDdpmTimesteps kind, int64_t steps, int64_t size);
/// The same list as a sampler visits it.
std::vector<double> descending(const std::vector<int64_t>& timesteps);

}  // namespace larmor::nn
