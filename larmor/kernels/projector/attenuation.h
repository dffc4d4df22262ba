// Between what a CT measures and what a detector behind a patient sees: Hounsfield units, attenuation, and
// the law of Beer and Lambert. Differentiable, any shape and device.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor {

/// The attenuation of water, in 1/mm, for photons of 70 keV: about the mean of a chest radiograph's spectrum.
/// Source: NIST, X-Ray Mass Attenuation Coefficients, liquid water, 0.193 cm2/g between 60 and 80 keV.
constexpr double water_attenuation = 0.0193;

/// HU to 1/mm: -1000 is 0 and 0 is water; below -1000 is 0, too.
at::Tensor attenuation_of_hu(const at::Tensor& hu);
/// The way back; 0 is -1000.
at::Tensor hu_of_attenuation(const at::Tensor& attenuation);
/// Line integrals of attenuation, as project() gives them, to the share of photons that comes through.
at::Tensor transmission(const at::Tensor& line_integrals);

}  // namespace larmor
