// How far a denoising network is from what it has to give, row by row, and the same at times that no draw
// moves.
#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

#include "larmor/nn/diffusion/noise_schedule.h"
#include "larmor/nn/diffusion/prediction_type.h"

namespace larmor::nn {

/// [N], the mean squared error of each row of the network's `output`, weighted by min_snr_weights() where
/// `gamma` is above 0.
at::Tensor denoising_errors(PredictionType type, const Denoised& truth, const at::Tensor& output,
                            const NoiseLevels& levels, double gamma);

/// Errors of rows at times [N], with `noise` as the images have their shape.
using ErrorsAt = std::function<at::Tensor(const at::Tensor& times, const at::Tensor& noise)>;

/// The mean of `errors` over the middles of four equal parts of the schedule: no draw of times moves it from
/// one validation to the next. Noise is drawn for images [N, …], each part in a turn of its own.
at::Tensor mean_over_even_times(const NoiseSchedule& schedule, const at::Tensor& images,
                                const ErrorsAt& errors);

}  // namespace larmor::nn
