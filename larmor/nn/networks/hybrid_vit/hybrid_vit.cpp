#include "larmor/nn/networks/hybrid_vit/hybrid_vit.h"

#include <algorithm>
#include <set>

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/nn/blocks/shape_text.h"
#include "larmor/nn/blocks/time_embedding.h"
#include "larmor/nn/networks/checked.h"
#include "larmor/nn/networks/hybrid_vit/hybrid_vit_stage.h"

namespace larmor::nn {
namespace {

constexpr int64_t xray_divisor = 8;

bool is_power_of_two_times(int64_t size, int64_t grid) {
  while (size > grid && size % 2 == 0) size /= 2;
  return size == grid;
}

}  // namespace

void HybridVitOptions::check() const {
  if (stages.empty()) fail(Exit::usage, "the network has no stage", "give it one");
  for (const auto& stage : stages) {
    if (!is_power_of_two_times(stage.volume_size, token_grid))
      fail(Exit::usage,
           text("model.volume_size=", stage.volume_size, " does not come down to ", token_grid,
                " tokens an axis by halving"),
           text("set model.volume_size to ", 2 * token_grid, ", ", 4 * token_grid, " or ", 8 * token_grid));
    if (stage.num_heads < 1 || stage.voxel_dim % stage.num_heads != 0)
      fail(Exit::usage,
           text("model.num_heads=", stage.num_heads, " does not divide model.voxel_dim=", stage.voxel_dim),
           "choose a number of heads that divides the width of a token");
    for (const int64_t width : {stage.voxel_dim / 4, stage.voxel_dim / 2}) {
      if (stage.voxel_dim % 4 == 0 && width % std::min<int64_t>(8, width) == 0) continue;
      fail(Exit::usage, text("model.voxel_dim=", stage.voxel_dim, " cannot be normalised in groups of 8"),
           "choose a multiple of 32");
    }
  }
}

HybridVitImpl::HybridVitImpl(const HybridVitOptions& options, c10::Device device)
    : options_(checked(options)) {
  time_embed_ =
      register_module("time_embed", std::make_shared<TimeEmbedding>(1, time_channels, "0", "2", device));
  encoder_ = register_module("xray_encoder", std::make_shared<XrayEncoder>(device));
  const auto stages = register_module("stages", std::make_shared<torch::nn::Module>());
  const auto projectors = register_module("prev_stage_projectors", std::make_shared<torch::nn::Module>());
  for (const auto& stage : options_.stages) {
    stages_[stage.name] =
        stages->register_module(stage.name, std::make_shared<HybridVitStage>(stage, options_, device));
    if (!stage.follows_another) continue;
    projectors_[stage.name] =
        projectors->register_module(stage.name, linear_weights(1, previous_channels, true, device));
  }
}

HybridVitImpl::Encoded HybridVitImpl::encode(const CascadeInput& input) {
  const at::Tensor time = run_block(time_embed_, input.time.to(input.noisy.scalar_type()).unsqueeze(1));
  const auto both = run_block(encoder_, input.xrays, time);
  return {.features = both[0], .condition = both[1]};
}

HybridVitImpl::Lifted HybridVitImpl::lift(const std::string& stage, const at::Tensor& features) {
  return stages_.at(stage)->lift(features);
}

const HybridVitStageOptions& HybridVitImpl::named(const std::string& stage) const {
  return *std::ranges::find(options_.stages, stage, &HybridVitStageOptions::name);
}

void HybridVitImpl::check_input(const HybridVitStageOptions& stage, const CascadeInput& input) const {
  const int64_t size = stage.volume_size;
  const bool volume_fits = input.noisy.sizes() == at::IntArrayRef({input.noisy.size(0), 1, size, size, size});
  const bool xrays_fit = input.xrays.dim() == 4 && input.xrays.size(2) % xray_divisor == 0 &&
                         input.xrays.size(3) % xray_divisor == 0;
  if (volume_fits && xrays_fit) return;
  fail(Exit::data,
       text("the stage takes volumes [N, 1, ", size, ", ", size, ", ", size,
            "] and radiographs [N, views, rows, columns] with rows and columns multiples of ", xray_divisor,
            ", and got ", shape_text(input.noisy.sizes()), " and ", shape_text(input.xrays.sizes())),
       "set model.volume_size and model.xray_size as the data has them");
}

at::Tensor HybridVitImpl::denoise(const CascadeInput& input) {
  return denoise(options_.stages.front().name, input);
}

at::Tensor HybridVitImpl::denoise(const std::string& stage, const CascadeInput& input) {
  check_input(named(stage), input);
  const Encoded encoded = encode(input);
  at::Tensor condition = encoded.condition;
  const auto projector = projectors_.find(stage);
  if (projector != projectors_.end()) {
    const at::Tensor before = input.previous.defined()
                                  ? linear(input.previous.mean({2, 3, 4}), *projector->second)
                                  : at::zeros({condition.size(0), previous_channels}, condition.options());
    condition = at::cat({condition, before}, 1);
  }
  return stages_.at(stage)->forward(input.noisy, encoded.features, condition);
}

}  // namespace larmor::nn
