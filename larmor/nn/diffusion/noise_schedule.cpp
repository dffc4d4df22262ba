#include "larmor/nn/diffusion/noise_schedule.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/send.h"

namespace larmor::nn {
namespace {

using ScheduleKind = NoiseScheduleOptions::Kind;

constexpr double most_beta = 0.999;
/// The logistic function is taken from minus this to this.
constexpr double logistic_end = 6;

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// What is left of the signal's variance at a share of the way, up to a factor.
double cosine_signal(double share) {
  constexpr double offset = 0.008;
  const double cosine = std::cos((share + offset) / (1 + offset) * std::numbers::pi / 2);
  return cosine * cosine;
}

/// Point `i` of `count` evenly spaced ones.
double evenly_spaced(double first, double last, int64_t i, int64_t count) {
  return count == 1 ? first
                    : first + (last - first) * static_cast<double>(i) / static_cast<double>(count - 1);
}

struct BetaRange {
  double least = 0, most = most_beta;
};

/// The beta of step `i` of `size`, where the variance of the signal is a function of the share of the way.
template <class Signal>
double beta_from_signal(Signal signal, int64_t i, int64_t size, BetaRange range = {}) {
  const auto steps = static_cast<double>(size);
  const double before = signal(static_cast<double>(i) / steps);
  const double after = signal(static_cast<double>(i + 1) / steps);
  return std::clamp(1 - after / before, range.least, range.most);
}

double beta_of(const NoiseScheduleOptions& options, int64_t i) {
  const int64_t size = options.num_train_timesteps;
  const double range = options.beta_end - options.beta_start;
  const double position = evenly_spaced(-logistic_end, logistic_end, i, size);
  switch (options.schedule) {
    case ScheduleKind::linear:
      return evenly_spaced(options.beta_start, options.beta_end, i, size);
    case ScheduleKind::scaled_linear:
    case ScheduleKind::quad: {
      const double root = evenly_spaced(std::sqrt(options.beta_start), std::sqrt(options.beta_end), i, size);
      return root * root;
    }
    case ScheduleKind::cosine:
      return beta_from_signal(cosine_signal, i, size);
    case ScheduleKind::cosine_clamped:
      return beta_from_signal(cosine_signal, i, size, {.least = 1e-4, .most = 0.9999});
    case ScheduleKind::sigmoid:
      return logistic(position) * range + options.beta_start;
    case ScheduleKind::sigmoid_decreasing:
      return logistic(-position) * range + options.beta_start;
    case ScheduleKind::alpha_linear:
      return beta_from_signal([](double share) { return 1 - share; }, i, size);
    case ScheduleKind::alpha_sigmoid:
      return beta_from_signal([](double share) { return logistic(logistic_end * (1 - 2 * share)); }, i, size);
    case ScheduleKind::rectified_flow:
      break;
  }
  assert(false);  // A straight path has no betas.
  return 0;
}

/// [2, N] float64: signals and noises at `times` [N].
at::Tensor levels_on_host(const NoiseSchedule& schedule, const at::Tensor& times) {
  const at::Tensor host = times.to(at::TensorOptions().dtype(at::kDouble).device(at::kCPU)).contiguous();
  const at::Tensor both = at::empty({2, times.size(0)}, host.options());
  auto* const values = both.mutable_data_ptr<double>();
  for (int64_t row = 0; row < times.size(0); ++row) {
    const NoiseLevel one = schedule.level(host.const_data_ptr<double>()[row]);
    values[row] = one.signal;
    values[times.size(0) + row] = one.noise;
  }
  return both;
}

bool uses_beta_range(ScheduleKind kind) {
  return kind == ScheduleKind::linear || kind == ScheduleKind::scaled_linear || kind == ScheduleKind::quad ||
         kind == ScheduleKind::sigmoid || kind == ScheduleKind::sigmoid_decreasing;
}

}  // namespace

void NoiseScheduleOptions::describe(Fields& f) {
  f.choice("schedule", schedule,
           {{"linear", ScheduleKind::linear},
            {"scaled_linear", ScheduleKind::scaled_linear},
            {"quad", ScheduleKind::quad},
            {"cosine", ScheduleKind::cosine},
            {"cosine_clamped", ScheduleKind::cosine_clamped},
            {"sigmoid", ScheduleKind::sigmoid},
            {"sigmoid_decreasing", ScheduleKind::sigmoid_decreasing},
            {"alpha_linear", ScheduleKind::alpha_linear},
            {"alpha_sigmoid", ScheduleKind::alpha_sigmoid},
            {"rectified_flow", ScheduleKind::rectified_flow}},
           "how the noise grows over the time steps");
  f.field("num_train_timesteps", num_train_timesteps, "time steps from an image to noise", at_least_one);
  f.field("beta_start", beta_start,
          "variance that the first step adds (linear, scaled_linear, quad and both sigmoids)", fraction);
  f.field("beta_end", beta_end, "variance that the last step adds (of the same schedules)", fraction);
}

void NoiseScheduleOptions::check() const {
  if (num_train_timesteps < 1)
    fail(Exit::usage, text("a noise schedule of ", num_train_timesteps, " time steps"),
         "set num_train_timesteps to 1 or more");
  if (!uses_beta_range(schedule)) return;
  if (!(beta_start > 0 && beta_start <= beta_end && beta_end < 1))
    fail(Exit::usage,
         text("a noise schedule cannot go from beta_start=", beta_start, " to beta_end=", beta_end),
         "choose 0 < beta_start <= beta_end < 1; MONAI's tutorial has 0.0015 and 0.0195");
}

NoiseSchedule::NoiseSchedule(const NoiseScheduleOptions& options) : size_(options.num_train_timesteps) {
  options.check();
  if (options.schedule == ScheduleKind::rectified_flow) return;
  double product = 1;
  for (int64_t i = 0; i < size_; ++i) {
    betas_.push_back(beta_of(options, i));
    alphas_cumprod_.push_back(product *= 1 - betas_.back());
  }
  // Of an own copy, since a schedule is a value.
  table_ =
      DeviceConstant([copy = *this] { return levels_on_host(copy, at::arange(copy.size(), at::kDouble)); });
}

double NoiseSchedule::alpha_cumprod(double time) const {
  const NoiseLevel at_time = level(time);
  return at_time.signal * at_time.signal;
}

NoiseLevel NoiseSchedule::level(double time) const {
  if (time < 0) return {};
  if (is_straight()) {
    const double share = time / static_cast<double>(size_);
    return {.signal = 1 - share, .noise = share};
  }
  assert(time <= static_cast<double>(size_ - 1));
  const auto before = static_cast<std::size_t>(time);
  const double rest = time - static_cast<double>(before);
  const double alpha = alphas_cumprod_[before];
  if (rest == 0) return {.signal = std::sqrt(alpha), .noise = std::sqrt(1 - alpha)};
  const double next = alphas_cumprod_[before + 1];
  const double sigma = std::lerp(std::sqrt((1 - alpha) / alpha), std::sqrt((1 - next) / next), rest);
  const double signal = 1 / std::sqrt(1 + sigma * sigma);
  return {.signal = signal, .noise = sigma * signal};
}

at::Tensor NoiseSchedule::looked_up(const at::Tensor& times) const {
  if (times.is_cuda() && is_straight()) {
    const at::Tensor share = times.to(at::kDouble) / static_cast<double>(size_);
    return at::stack({1 - share, share});
  }
  if (times.is_cuda() && times.scalar_type() == at::kLong)
    return table_.on(times.device(), at::kDouble).index_select(1, times);
  return levels_on_host(*this, times);
}

NoiseLevels NoiseSchedule::levels(const at::Tensor& times, const at::Tensor& like) const {
  assert(times.dim() == 1 && times.size(0) == like.size(0));
  at::Tensor both = looked_up(times);
  std::vector<int64_t> shape(static_cast<std::size_t>(like.dim()) + 1, 1);
  shape[0] = 2;
  shape[1] = times.size(0);
  both = send_like(both, like).view(shape);
  return {.signal = both[0], .noise = both[1]};
}

at::Tensor NoiseSchedule::add_noise(const at::Tensor& x0, const at::Tensor& epsilon,
                                    const at::Tensor& times) const {
  const NoiseLevels at_times = levels(times, x0);
  return at_times.signal * x0 + at_times.noise * epsilon;
}

}  // namespace larmor::nn
