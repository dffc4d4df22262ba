#include "organs/basic_unet.h"

#include <string>

#include <ATen/ATen.h>

#include "larmor/nn/blocks/group_norm.h"

namespace larmor::segmentation {

namespace {

constexpr double norm_epsilon = 1e-5, leak = 0.1;

std::shared_ptr<torch::nn::Module> level(torch::nn::Module& parent, const std::string& name) {
  return parent.register_module(name, std::make_shared<torch::nn::Module>(name));
}

}  // namespace

/// Weights: conv.…, adn.N.…
class Convolution final : public nn::ConvBlock {
 public:
  Convolution(int64_t in, int64_t out, c10::Device device)
      : ConvBlock({.in_channels = in, .out_channels = out}, device),
        norm_(std::make_shared<nn::GroupNorm>(/*groups=*/out, out, norm_epsilon, device)) {
    level(*this, "adn")->register_module("N", norm_);
  }
  at::Tensor forward(const at::Tensor& input) override {
    return at::leaky_relu(norm_->forward(ConvBlock::forward(input)), leak);
  }

 private:
  std::shared_ptr<nn::GroupNorm> norm_;
};

/// torch.nn.ConvTranspose3d of kernel 2 and stride 2: each voxel becomes eight, by one product of matrices.
class Doubling final : public nn::Block {
 public:
  Doubling(int64_t in, int64_t out, c10::Device device)
      : deconv_(
            register_module("deconv", std::make_shared<nn::LayerWeights>(at::IntArrayRef({in, out, 2, 2, 2}),
                                                                         /*has_bias=*/false, device))),
        bias_(deconv_->register_parameter("bias", at::zeros(out, device))) {}
  at::Tensor forward(const at::Tensor& input) override {
    const at::Tensor& weight = deconv_->weight();
    const int64_t rows = input.size(0), out = weight.size(1);
    const auto space = input.sizes().slice(2);
    const at::Tensor eight = at::matmul(weight.flatten(1).t(), input.flatten(2))
                                 .view({rows, out, 2, 2, 2, space[0], space[1], space[2]})
                                 .permute({0, 1, 5, 2, 6, 3, 7, 4})
                                 .reshape({rows, out, 2 * space[0], 2 * space[1], 2 * space[2]});
    return eight + bias_.view({out, 1, 1, 1});
  }

 private:
  std::shared_ptr<nn::LayerWeights> deconv_;
  at::Tensor bias_;
};

BasicUnet::TwoConvolutions BasicUnet::two_convolutions(torch::nn::Module& parent, int64_t in, int64_t out,
                                                       c10::Device device) {
  return {parent.register_module("conv_0", std::make_shared<Convolution>(in, out, device)),
          parent.register_module("conv_1", std::make_shared<Convolution>(out, out, device))};
}

BasicUnet::BasicUnet(int64_t in_channels, int64_t out_channels, const std::vector<int64_t>& features,
                     c10::Device device)
    : decoder_(features.size() - 2), doublings_(features.size() - 2) {
  encoder_.push_back(two_convolutions(*level(*this, "conv_0"), in_channels, features[0], device));
  for (std::size_t i = 1; i + 1 < features.size(); ++i) {
    const auto down = level(*this, "down_" + std::to_string(i));
    encoder_.push_back(two_convolutions(*level(*down, "convs"), features[i - 1], features[i], device));
  }
  for (std::size_t i = decoder_.size(); i > 0; --i) {
    const int64_t doubled = i == 1 ? features[i] : features[i] / 2;
    const auto up = level(*this, "upcat_" + std::to_string(i));
    doublings_[i - 1] =
        up->register_module("upsample", std::make_shared<Doubling>(features[i], doubled, device));
    decoder_[i - 1] = two_convolutions(*level(*up, "convs"), features[i - 1] + doubled,
                                       i == 1 ? features.back() : features[i - 1], device);
  }
  last_ = std::make_shared<nn::ConvBlock>(
      nn::ConvShape{.in_channels = features.back(), .out_channels = out_channels, .kernel = 1, .padding = 0},
      device);
  register_module("final_conv", last_->layer());
}

at::Tensor BasicUnet::forward(const at::Tensor& image) {
  std::vector<at::Tensor> levels{nn::run_blocks(encoder_.front(), image)};
  for (std::size_t i = 1; i < encoder_.size(); ++i)
    levels.push_back(nn::run_blocks(encoder_[i], at::max_pool3d(levels.back(), /*kernel_size=*/2)));
  at::Tensor value = levels.back();
  for (std::size_t i = decoder_.size(); i > 0; --i) {
    const at::Tensor doubled = run_block(doublings_[i - 1], value);
    value = nn::run_blocks(decoder_[i - 1], at::cat({levels[i - 1], doubled}, 1));
  }
  return run_block(last_, value);
}

int64_t BasicUnet::size_divisor(const std::vector<int64_t>& features) {
  return int64_t{1} << (features.size() - 2);
}

}  // namespace larmor::segmentation
