// What of a radiograph an answer goes by, as a picture for people.
// Source: gradient-weighted class activation, Selvaraju et al., ICCV 2017.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "larmor/base/image.h"

#include "workloads/xray_vqa/network/vqa_network.h"

namespace larmor::xray_vqa {

/// The last map of the image encoder [1, C, h, w], its channels weighted by the means of the gradients of the
/// answer's logit, summed, and nothing below 0: [h, w] in [0, 1], its greatest value 1 where it has one above
/// 0. `states` and `inputs` are of one row. Wants no gradient mode of its caller.
at::Tensor class_activation(VqaNetworkImpl& network, const at::Tensor& map, const at::Tensor& states,
                            const VqaInputs& inputs, Head head, int64_t answer);

/// The picture, [1, C, columns, rows, 1] as it was read, in grey, 768 pixels at most along its longer side,
/// and over it the activation from red to yellow.
Image activation_over(const at::Tensor& picture, const at::Tensor& activation);

}  // namespace larmor::xray_vqa
