#include "larmor/nn/diffusion/denoising_error.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/square.h>

#include "larmor/device/draw_position.h"
#include "larmor/kernels/draw/draw.h"

namespace larmor::nn {

at::Tensor denoising_errors(PredictionType type, const Denoised& truth, const at::Tensor& output,
                            const NoiseLevels& levels, double gamma) {
  at::Tensor errors = at::square(output - target(type, truth, levels));
  if (gamma > 0) errors = errors * min_snr_weights(type, levels, gamma);
  return errors.flatten(1).mean(1);
}

at::Tensor mean_over_even_times(const NoiseSchedule& schedule, const at::Tensor& images,
                                const ErrorsAt& errors) {
  constexpr int64_t parts = 4;
  at::Tensor sum;
  for (int64_t part = 0; part < parts; ++part) {
    const DrawTurn turn(part);
    const int64_t time = (2 * part + 1) * schedule.size() / (2 * parts);
    const at::Tensor of_part =
        errors(at::full({images.size(0)}, time, at::kLong), draw_normal_like(images, "validation noise"));
    sum = sum.defined() ? sum + of_part : of_part;
  }
  return sum / parts;
}

}  // namespace larmor::nn
