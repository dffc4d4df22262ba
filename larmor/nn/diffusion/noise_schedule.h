// How much noise x_t holds at each time step: x_t = signal * x0 + noise * epsilon. A table of a schedule's
// time steps in float64, or the straight path of rectified flow. Sources:
// monai.networks.schedulers.NoiseSchedules, diffusers, Fast-DDPM, Hybrid-ViT-Cascade.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/config/fields.h"
#include "larmor/device/device_constant.h"

namespace larmor::nn {

/// The level of one time step, and the same for all rows of a batch.
struct NoiseLevel {
  double signal = 1, noise = 0;
};

/// The levels of each row of a batch: [N, 1, …], to be multiplied with its tensors.
struct NoiseLevels {
  at::Tensor signal, noise;
};

/// The time that comes after the last step of sampling: nothing but x0 is left.
inline constexpr double clean_time = -1;

struct NoiseScheduleOptions {
  enum class Kind {
    linear,
    scaled_linear,
    quad,    // Fast-DDPM's word for scaled_linear
    cosine,  // of Nichol and Dhariwal, and MONAI; Fast-DDPM calls it alpha_cosine
    cosine_clamped,
    sigmoid,
    sigmoid_decreasing,
    alpha_linear,
    alpha_sigmoid,
    rectified_flow,
  };

  Kind schedule = Kind::scaled_linear;
  int64_t num_train_timesteps = 1000;
  double beta_start = 0.0015, beta_end = 0.0195;

  void describe(Fields& f);
  /// Throws Error (usage).
  void check() const;
};

/// A value; thread-safe.
class NoiseSchedule {
 public:
  /// Throws Error (usage) as NoiseScheduleOptions::check().
  explicit NoiseSchedule(const NoiseScheduleOptions& options);

  /// How many time steps training knows; times lie in [0, size()).
  int64_t size() const { return size_; }
  /// Whether x_t is a straight line from x0 (time 0) to noise (time size()). Such a schedule has no betas,
  /// and its times are real numbers.
  bool is_straight() const { return alphas_cumprod_.empty(); }

  /// [size()] each; empty for a straight path.
  const std::vector<double>& betas() const { return betas_; }
  const std::vector<double>& alphas_cumprod() const { return alphas_cumprod_; }
  /// The product of all alphas up to `time`, 1 for clean_time. Requires: !is_straight()
  double alpha_cumprod(double time) const;

  /// The level of a time. Between two time steps of a table, noise / signal is interpolated linearly, as
  /// Euler's method wants it.
  NoiseLevel level(double time) const;
  /// times [N], of integers or real numbers; the levels are typed and placed like `like` [N, …]. On a GPU
  /// nothing waits when `times` lie on the CPU; nothing is sent when they lie on the GPU as int64, or the
  /// path is straight.
  NoiseLevels levels(const at::Tensor& times, const at::Tensor& like) const;
  /// signal * x0 + noise * epsilon, row by row: x_t.
  at::Tensor add_noise(const at::Tensor& x0, const at::Tensor& epsilon, const at::Tensor& times) const;

 private:
  /// [2, N] float64: signals and noises, where the times are.
  at::Tensor looked_up(const at::Tensor& times) const;

  int64_t size_;
  std::vector<double> betas_, alphas_cumprod_;
  DeviceConstant table_;  // [2, size()], of all time steps; none for a straight path
};

}  // namespace larmor::nn
