#include "larmor/nn/networks/diffusion_unet/diffusion_unet.h"

#include <utility>

#include <torch/nn/modules/container/modulelist.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/run_block.h"
#include "larmor/device/send.h"
#include "larmor/nn/blocks/conv_block.h"
#include "larmor/nn/blocks/norm_silu_conv.h"
#include "larmor/nn/blocks/shape_text.h"
#include "larmor/nn/blocks/time_embedding.h"
#include "larmor/nn/networks/checked.h"
#include "larmor/nn/networks/diffusion_unet/diffusion_unet_level.h"

namespace larmor::nn {
DiffusionUnetImpl::DiffusionUnetImpl(const DiffusionUnetOptions& options, c10::Device device)
    : options_(checked(options)) {
  const int64_t width = options_.channels.front();
  const std::size_t levels = options_.channels.size();
  conv_in_ =
      register_module("conv_in", std::make_shared<ConvBlock>(ConvShape{options_.in_channels, width}, device));
  time_embed_ =
      register_module("time_embed", std::make_shared<TimeEmbedding>(width, 4 * width, "0", "2", device));
  torch::nn::ModuleList down, up;
  for (std::size_t level = 0; level < levels; ++level) {
    down_.push_back(std::make_shared<DiffusionUnetLevel>(options_, level, Direction::down, device));
    down->push_back(down_.back());
  }
  register_module("down_blocks", down);
  middle_ = register_module("middle_block", std::make_shared<DiffusionUnetMiddle>(options_, device));
  for (std::size_t level = levels; level-- > 0;) {
    up_.push_back(std::make_shared<DiffusionUnetLevel>(options_, level, Direction::up, device));
    up->push_back(up_.back());
  }
  register_module("up_blocks", up);
  out_ =
      register_module("out", std::make_shared<NormSiluConv>(options_.norm_num_groups, options_.norm_eps,
                                                            ConvShape{width, options_.out_channels}, device));
  out_->conv()->layer()->zero();
}

at::Tensor DiffusionUnetImpl::forward(const at::Tensor& noisy, const at::Tensor& times,
                                      const at::Tensor& context) {
  const at::Tensor sinusoids = sinusoidal_embedding(times, options_.channels.front(), Sinusoids::monai);
  return forward_embedded(noisy, send_like(sinusoids, noisy), context);
}

at::Tensor DiffusionUnetImpl::forward_embedded(const at::Tensor& noisy, const at::Tensor& sinusoids,
                                               const at::Tensor& context) {
  check_input(noisy, context);
  const at::Tensor time = run_block(time_embed_, sinusoids);
  at::Tensor value = run_block(conv_in_, noisy);
  std::vector<at::Tensor> skips{value};
  for (const auto& level : down_) value = level->pass(std::move(value), time, context, skips);
  value = middle_->pass(std::move(value), time, context);
  for (const auto& level : up_) value = level->pass(std::move(value), time, context, skips);
  return run_block(out_, std::as_const(value));
}

void DiffusionUnetImpl::check_input(const at::Tensor& noisy, const at::Tensor& context) const {
  const int64_t divisor = options_.size_divisor();
  bool fits = noisy.dim() == 5 && noisy.size(1) == options_.in_channels;
  for (int64_t axis = 2; fits && axis < 5; ++axis) fits = noisy.size(axis) % divisor == 0;
  if (!fits)
    fail(Exit::data,
         text("the U-Net takes [N, ", options_.in_channels, ", D, H, W] with D, H and W multiples of ",
              divisor, ", and got an input of the shape ", shape_text(noisy.sizes())),
         "choose a crop whose sizes are multiples of 2^(levels - 1), and model.in_channels as the data has "
         "them");
  const bool context_fits = options_.with_conditioning ? context.defined() && context.dim() == 3 &&
                                                             context.size(2) == options_.cross_attention_dim
                                                       : !context.defined();
  if (!context_fits)
    fail(Exit::data,
         text("the U-Net takes ",
              options_.with_conditioning ? text("a context [N, tokens, ", options_.cross_attention_dim, "]")
                                         : std::string("no context"),
              ", and got ", context.defined() ? shape_text(context.sizes()) : std::string("none")),
         "set model.with_conditioning and model.cross_attention_dim as the task has it");
}

}  // namespace larmor::nn
