// What real films have and computed radiographs lack: faults for training examples, so that real films are no
// strangers to a network.
#pragma once

#include <ATen/core/Tensor.h>

#include "larmor/base/seed.h"

namespace larmor::xray_to_ct {

/// A radiograph [rows, columns] in [-1, 1] as a worse apparatus would give it; `strength` from 0 (as it is)
/// to 1. Drawn of `draws`, in this order: scatter (light from a wide neighbourhood, up to half of what is
/// there), the noise of few photons, a curve of the film (gamma between 0.6 and 1.7), and a collimator whose
/// edges blacken up to an eighth of each side. The same number of draws whatever the strength.
at::Tensor with_faults(const at::Tensor& radiograph, double strength, Draws& draws, Key noise);

}  // namespace larmor::xray_to_ct
