// What a denoising network gives, as a target to learn and as x0 and epsilon to sample with. Each type
// follows from any other once x_t and its noise level are known. Sources:
// monai.networks.schedulers.ddpm.DDPMPredictionType; rectified flow (Liu et al. 2022).
#pragma once

#include <ATen/core/Tensor.h>

#include "larmor/config/fields.h"
#include "larmor/nn/diffusion/noise_schedule.h"

namespace larmor::nn {

enum class PredictionType {
  epsilon,       // the noise
  sample,        // x0
  v_prediction,  // signal * epsilon - noise * x0
  flow,          // epsilon - x0: the direction of a straight path, from image to noise
};

/// Describes the type as the field `prediction_type`.
void describe(Fields& f, PredictionType& type);
/// Throws Error (usage): epsilon on a straight path, at whose end it says nothing of x0.
void check(PredictionType type, const NoiseSchedule& schedule);

/// Both together are x_t: signal * x0 + noise * epsilon.
struct Denoised {
  at::Tensor x0, epsilon;
};

/// What the network has to give for rows of these levels.
at::Tensor target(PredictionType type, const Denoised& truth, const NoiseLevels& levels);
/// What the network's `output` for x_t says. Where the level has no noise (or, for epsilon, no signal) a
/// division by zero shows.
Denoised denoised(PredictionType type, const at::Tensor& x_t, const at::Tensor& output,
                  const NoiseLevels& levels);
Denoised denoised(PredictionType type, const at::Tensor& x_t, const at::Tensor& output, NoiseLevel level);
/// `output` of one type as another one.
at::Tensor converted(const at::Tensor& output, PredictionType from, PredictionType to, const at::Tensor& x_t,
                     const NoiseLevels& levels);

/// x0 where a network learns only what a simpler guess leaves open: the mean of x0, given x_t, where x0 lies
/// around `guess` with the standard deviation `spread`, and the network's `output` times the deviation that
/// is left. Without noise that is x_t, with nothing but noise guess + spread * output. Source: Karras et al.
/// 2022 (c_skip and c_out), around a guess as in Mardani et al. 2023.
at::Tensor preconditioned(const at::Tensor& output, const at::Tensor& guess, const at::Tensor& x_t,
                          const NoiseLevels& levels, double spread);

/// The factor of a row's squared error, [N, 1, …] as the levels, that makes all types weigh x0's error by
/// min(snr, gamma). Source: Hang et al. 2023, as in diffusers' training scripts. Requires: gamma > 0
at::Tensor min_snr_weights(PredictionType type, const NoiseLevels& levels, double gamma);

}  // namespace larmor::nn
