#include "larmor/kernels/projector/attenuation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/exp.h>

namespace larmor {

at::Tensor attenuation_of_hu(const at::Tensor& hu) {
  return at::clamp_min((hu + 1000) * (water_attenuation / 1000), 0);
}

at::Tensor hu_of_attenuation(const at::Tensor& attenuation) {
  return attenuation * (1000 / water_attenuation) - 1000;
}

at::Tensor transmission(const at::Tensor& line_integrals) { return at::exp(-line_integrals); }

}  // namespace larmor
