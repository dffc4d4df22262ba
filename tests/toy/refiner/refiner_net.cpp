#include "tests/toy/refiner/refiner_net.h"

#include <ATen/ops/cat.h>

#include "larmor/nn/blocks/dropout.h"

#include "tests/toy/active_conv.h"

namespace larmor::toy {

RefinerNet::RefinerNet(int64_t latent_channels, int64_t conditions, int64_t channels, c10::Device device) {
  const auto conv = [](int64_t in, int64_t out) {
    return nn::ConvShape{.in_channels = in, .out_channels = out};
  };
  push_back(std::make_shared<ActiveConv>(conv(latent_channels + conditions, channels), device));
  push_back(std::make_shared<nn::Dropout>(/*drop=*/0.1, "refiner.dropout"));
  push_back(std::make_shared<ActiveConv>(conv(channels, channels), device));
  push_back(std::make_shared<nn::ConvBlock>(conv(channels, latent_channels), device));
}

at::Tensor RefinerNet::noise_in(const at::Tensor& latent, const at::Tensor& conditions) {
  return forward(at::cat({latent, conditions}, /*dim=*/1));
}

}  // namespace larmor::toy
