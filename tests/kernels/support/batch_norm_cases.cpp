#include "tests/kernels/support/batch_norm_cases.h"

#include <string>

#include <ATen/ATen.h>

#include "larmor/kernels/draw/draw.h"
#include "larmor/kernels/norms/batch_norm_relu.h"

namespace larmor::testing::card {

using at::Tensor;

namespace {

/// A batch norm, whether something is added and ReLU stands behind it, and whether its moments are given.
CardCase batch_norm(const std::vector<int64_t>& input, bool adds, bool activated, bool constant) {
  const int64_t channels = input[1];
  return {.name = std::string("batch_norm_relu") + (adds ? ", sum" : "") + (activated ? ", ReLU" : "") +
                  (constant ? ", constant moments" : ""),
          .leaves = {input, {channels}, {channels}, input},
          .run =
              [=](const std::vector<Tensor>& leaves) {
                const Tensor& value = leaves[0];
                const Tensor moments = at::arange(channels, value.options().dtype(at::kDouble)) / channels;
                const Tensor normalised = batch_norm_relu(
                    value,
                    constant ? BatchMoments{.mean = moments, .variance = moments + 0.5, .count = {}}
                             : batch_moments(value, nullptr),
                    {.weight = leaves[1],
                     .bias = leaves[2],
                     .residual = adds ? leaves[3].to(value.scalar_type()) : Tensor(),
                     .activated = activated,
                     .constant_moments = constant});
                // Without a sum the last leaf has a gradient all the same.
                return adds ? normalised : normalised + leaves[3].to(value.scalar_type());
              },
          .keeps_float32 = true,
          .allowed_beside = activated ? 0.1 : 0};
}

}  // namespace

std::vector<CardCase> batch_norm_cases() {
  const std::vector<std::vector<int64_t>> inputs{
      {2, 8, 3, 4, 5}, {2, 24, 9, 11, 13}, {4, 6, 15, 14}, {2, 2, 33, 32, 32}, {7, 16, 1, 1, 1}};
  std::vector<CardCase> cases;
  for (const auto& input : inputs)
    for (const bool adds : {false, true})
      for (const bool activated : {false, true})
        for (const bool constant : {false, true})
          cases.push_back(batch_norm(input, adds, activated, constant));
  return cases;
}

Tensor remembered_moments(c10::Device device, at::ScalarType type) {
  const Tensor input = draw_normal(4, "batch", {3, 40, 5, 6, 7}).to(at::kDouble);
  const auto options = at::TensorOptions(device).dtype(type);
  const Tensor mean = at::full({40}, 0.25, options), variance = at::full({40}, 2, options);
  remember_moments(batch_moments(input.to(device), nullptr), 0.1, mean, variance);
  return at::stack({mean, variance}).to(at::kCPU, at::kDouble);
}

}  // namespace larmor::testing::card
