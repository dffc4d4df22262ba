#include "workloads/xray_vqa/training/saliency.h"

#include <algorithm>
#include <cstring>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "workloads/xray_vqa/training/asked.h"

namespace larmor::xray_vqa {
namespace {

constexpr int64_t longest_side = 768;
constexpr double most_cover = 0.6;  // of a pixel where the activation is 1

at::Tensor resized(const at::Tensor& plane, int64_t rows, int64_t columns) {
  return at::_upsample_bilinear2d_aa(plane.view({1, 1, plane.size(0), plane.size(1)}), {rows, columns},
                                     /*align_corners=*/false)[0][0];
}

}  // namespace

at::Tensor class_activation(VqaNetworkImpl& network, const at::Tensor& map, const at::Tensor& states,
                            const VqaInputs& inputs, Head head, int64_t answer) {
  const at::AutoGradMode wants_gradient(true);
  const at::Tensor leaf = map.detach().clone().requires_grad_(true);
  const VqaOutputs outputs = network.answer(leaf, states.detach(), inputs);
  const at::Tensor logit = outputs.answers.at(static_cast<std::size_t>(head))[0][answer];
  const at::Tensor gradient = torch::autograd::grad({logit}, {leaf})[0];
  const at::Tensor weights = gradient.mean({2, 3}, /*keepdim=*/true);
  const at::Tensor sum = (weights * leaf.detach()).sum(1)[0].to(at::kCPU, at::kDouble).clamp_min(0);
  const double most = sum.max().item<double>();
  return most > 0 ? sum / most : sum;
}

Image activation_over(const at::Tensor& picture, const at::Tensor& activation) {
  const at::Tensor planes = picture.squeeze(4)[0].transpose(1, 2).to(at::kCPU, at::kDouble);
  const at::Tensor grey = planes.mean(0) / white_of(planes);  // [rows, columns]
  const auto longer = std::max(grey.size(0), grey.size(1));
  const double scale = std::min(1.0, static_cast<double>(longest_side) / static_cast<double>(longer));
  const auto along = [scale](int64_t pixels) {
    return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(pixels) * scale + 0.5));
  };
  const int64_t rows = along(grey.size(0)), columns = along(grey.size(1));
  const at::Tensor small = resized(grey, rows, columns);
  const at::Tensor heat = resized(activation.to(at::kDouble), rows, columns).clamp(0, 1);
  const at::Tensor colours = at::stack({at::ones_like(heat), heat * heat, at::zeros_like(heat)}, -1);
  const at::Tensor cover = (heat * most_cover).unsqueeze(-1);
  const at::Tensor mixed = small.unsqueeze(-1) * (1 - cover) + colours * cover;
  const at::Tensor bytes = (mixed.clamp(0, 1) * 255).round().to(at::kByte).contiguous();
  Image image{.width = static_cast<int>(columns),
              .height = static_cast<int>(rows),
              .channels = 3,
              .pixels = std::vector<uint8_t>(static_cast<std::size_t>(bytes.numel()))};
  std::memcpy(image.pixels.data(), bytes.const_data_ptr<uint8_t>(), image.pixels.size());
  return image;
}

}  // namespace larmor::xray_vqa
