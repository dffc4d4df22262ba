#include "workloads/xray_vqa/network/scene_encoder.h"

#include <string>

#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/gelu.h>

namespace larmor::xray_vqa {
namespace {

std::shared_ptr<nn::LayerWeights> scene_embedding(int64_t count, int64_t width, c10::Device device) {
  auto layer =
      std::make_shared<nn::LayerWeights>(at::IntArrayRef({count, width}), /*has_bias=*/false, device);
  layer->draw_normal(/*deviation=*/1);
  return layer;
}

}  // namespace

LinearNormGelu::LinearNormGelu(int64_t in, int64_t out, int64_t first, c10::Device device)
    : linear_(register_module(std::to_string(first), nn::linear_weights(in, out, /*has_bias=*/true, device))),
      norm_(register_module(std::to_string(first + 1), std::make_shared<nn::LayerNorm>(out, device))) {}

at::Tensor LinearNormGelu::forward(const at::Tensor& input) {
  return at::gelu(norm_->forward(nn::linear(input, *linear_)));
}

SceneEncoder::SceneEncoder(int64_t regions, int64_t entities, int64_t width, c10::Device device)
    : region_embedding_(register_module("region_embedding", scene_embedding(regions, width, device))),
      entity_embedding_(register_module("entity_embedding", scene_embedding(entities, width, device))),
      region_proj_(register_module("region_proj", std::make_shared<LinearNormGelu>(width, width, 0, device))),
      entity_proj_(
          register_module("entity_proj", std::make_shared<LinearNormGelu>(width, width, 0, device))) {}

at::Tensor SceneEncoder::forward(const at::Tensor& boxes, const at::Tensor& regions,
                                 const at::Tensor& entities, const at::Tensor& objects_mask) {
  const at::Tensor region = region_proj_->forward(at::embedding(region_embedding_->weight(), regions));
  const at::Tensor entity = entity_proj_->forward(at::embedding(entity_embedding_->weight(), entities));
  const at::Tensor places = boxes.to(region.scalar_type());
  const at::Tensor width = places.select(2, 2) - places.select(2, 0);
  const at::Tensor height = places.select(2, 3) - places.select(2, 1);
  constexpr double least_height = 1e-6;
  const at::Tensor all = at::cat({places, (width * height).unsqueeze(-1),
                                  (width / (height + least_height)).unsqueeze(-1), region, entity},
                                 -1);
  return all * objects_mask.unsqueeze(-1).to(all.scalar_type());
}

}  // namespace larmor::xray_vqa
