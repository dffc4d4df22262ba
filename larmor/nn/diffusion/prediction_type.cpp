#include "larmor/nn/diffusion/prediction_type.h"

#include <cassert>

#include <ATen/TensorOperators.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/square.h>

#include "larmor/base/error.h"

namespace larmor::nn {
namespace {

/// With numbers for `signal` and `noise`, or with tensors of one a row.
template <class Level>
at::Tensor target_at(PredictionType type, const Denoised& truth, const Level& signal, const Level& noise) {
  switch (type) {
    case PredictionType::epsilon:
      return truth.epsilon;
    case PredictionType::sample:
      return truth.x0;
    case PredictionType::v_prediction:
      return signal * truth.epsilon - noise * truth.x0;
    case PredictionType::flow:
      return truth.epsilon - truth.x0;
  }
  assert(false);  // All types are named above.
  return {};
}

template <class Level>
Denoised denoised_at(PredictionType type, const at::Tensor& x_t, const at::Tensor& output,
                     const Level& signal, const Level& noise) {
  switch (type) {
    case PredictionType::epsilon:
      return {.x0 = (x_t - noise * output) / signal, .epsilon = output};
    case PredictionType::sample:
      return {.x0 = output, .epsilon = (x_t - signal * output) / noise};
    case PredictionType::v_prediction: {
      // The squares add up to one where the variance is preserved, and not on a straight path.
      const Level squares = signal * signal + noise * noise;
      return {.x0 = (signal * x_t - noise * output) / squares,
              .epsilon = (noise * x_t + signal * output) / squares};
    }
    case PredictionType::flow: {
      const Level sum = signal + noise;
      return {.x0 = (x_t - noise * output) / sum, .epsilon = (x_t + signal * output) / sum};
    }
  }
  assert(false);  // All types are named above.
  return {};
}

}  // namespace

void describe(Fields& f, PredictionType& type) {
  f.choice("prediction_type", type,
           {{"epsilon", PredictionType::epsilon},
            {"sample", PredictionType::sample},
            {"v_prediction", PredictionType::v_prediction},
            {"flow", PredictionType::flow}},
           "what the network predicts: the noise, the image, v, or the direction of a straight path");
}

void check(PredictionType type, const NoiseSchedule& schedule) {
  if (type == PredictionType::epsilon && schedule.is_straight())
    fail(Exit::usage, "prediction_type=epsilon on the straight path of schedule=rectified_flow",
         "choose prediction_type=flow, or a schedule with betas: at pure noise epsilon says nothing of the "
         "image");
}

at::Tensor target(PredictionType type, const Denoised& truth, const NoiseLevels& levels) {
  return target_at(type, truth, levels.signal, levels.noise);
}

Denoised denoised(PredictionType type, const at::Tensor& x_t, const at::Tensor& output,
                  const NoiseLevels& levels) {
  return denoised_at(type, x_t, output, levels.signal, levels.noise);
}

Denoised denoised(PredictionType type, const at::Tensor& x_t, const at::Tensor& output, NoiseLevel level) {
  return denoised_at(type, x_t, output, level.signal, level.noise);
}

at::Tensor converted(const at::Tensor& output, PredictionType from, PredictionType to, const at::Tensor& x_t,
                     const NoiseLevels& levels) {
  return from == to ? output : target(to, denoised(from, x_t, output, levels), levels);
}

at::Tensor preconditioned(const at::Tensor& output, const at::Tensor& guess, const at::Tensor& x_t,
                          const NoiseLevels& levels, double spread) {
  const double variance = spread * spread;
  const at::Tensor total = at::square(levels.signal) * variance + at::square(levels.noise);
  return guess + (x_t - levels.signal * guess) * (levels.signal * variance / total) +
         output * (levels.noise * spread / at::sqrt(total));
}

at::Tensor min_snr_weights(PredictionType type, const NoiseLevels& levels, double gamma) {
  assert(gamma > 0);
  const at::Tensor snr = at::square(levels.signal / levels.noise);
  const at::Tensor of_x0 = snr.clamp_max(gamma);
  switch (type) {
    case PredictionType::epsilon:
      return of_x0 / snr;
    case PredictionType::sample:
      return of_x0;
    case PredictionType::v_prediction:
      return of_x0 * at::square(levels.noise / (at::square(levels.signal) + at::square(levels.noise)));
    case PredictionType::flow:
      return of_x0 * at::square(levels.noise / (levels.signal + levels.noise));
  }
  assert(false);  // All types are named above.
  return {};
}

}  // namespace larmor::nn
