#include "larmor/nn/networks/squeezenet.h"

#include <algorithm>
#include <array>
#include <string>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include "larmor/device/initialisation.h"
#include "larmor/kernels/convolution/conv2d.h"
#include "larmor/nn/blocks/layer_weights.h"
#include "larmor/nn/blocks/pointwise.h"

namespace larmor::nn {
namespace {

/// A fire module: its place among torchvision's `features`, and its channels.
struct FireShape {
  int64_t place, in, squeezed, expanded;
};
constexpr std::array fire_shapes{FireShape{3, 64, 16, 64},    FireShape{4, 128, 16, 64},
                                 FireShape{6, 128, 32, 128},  FireShape{7, 256, 32, 128},
                                 FireShape{9, 256, 48, 192},  FireShape{10, 384, 48, 192},
                                 FireShape{11, 384, 64, 256}, FireShape{12, 512, 64, 256}};
constexpr std::array<int64_t, 3> places_behind_pools{3, 6, 9};
constexpr std::array<int64_t, 6> tapped_fires{4, 7, 9, 10, 11, 12};

template <class Places>
bool is_among(const Places& places, int64_t place) {
  return std::find(places.begin(), places.end(), place) != places.end();
}

/// As torchvision begins: uniform by the inputs of a kernel, biases 0.
std::shared_ptr<LayerWeights> kernel_weights(int64_t in, int64_t out, int64_t kernel, c10::Device device) {
  auto weights = std::make_shared<LayerWeights>(at::IntArrayRef({out, in, kernel, kernel}),
                                                /*has_bias=*/true, device);
  initialise_kaiming_uniform(weights->weight(), /*slope=*/0);
  const at::NoGradGuard no_gradient;
  weights->bias().zero_();
  return weights;
}

at::Tensor convolve_image(const at::Tensor& image, const LayerWeights& weights, int64_t stride,
                          int64_t padding) {
  return at::relu(conv2d(image, weights.weight(), weights.bias(), {stride, stride}, {padding, padding}));
}

at::Tensor pool(const at::Tensor& map) {
  return at::max_pool2d(map, /*kernel_size=*/3, /*stride=*/2, /*padding=*/0, /*dilation=*/1,
                        /*ceil_mode=*/true);
}

}  // namespace

class Fire final : public torch::nn::Module {
 public:
  Fire(const FireShape& shape, c10::Device device)
      : squeeze_(register_module("squeeze", kernel_weights(shape.in, shape.squeezed, 1, device))),
        expand1x1_(register_module("expand1x1", kernel_weights(shape.squeezed, shape.expanded, 1, device))),
        expand3x3_(register_module("expand3x3", kernel_weights(shape.squeezed, shape.expanded, 3, device))),
        place_(shape.place) {}

  at::Tensor forward(const at::Tensor& map) const {
    const at::Tensor squeezed = at::relu(pointwise(map, *squeeze_));
    return at::cat({at::relu(pointwise(squeezed, *expand1x1_)), convolve_image(squeezed, *expand3x3_, 1, 1)},
                   1);
  }
  int64_t place() const { return place_; }

 private:
  std::shared_ptr<LayerWeights> squeeze_, expand1x1_, expand3x3_;
  int64_t place_;
};

const std::vector<int64_t>& SqueezeNetFeatures::tap_channels() {
  static const std::vector<int64_t> channels{64, 128, 256, 384, 384, 512, 512};
  return channels;
}

SqueezeNetFeatures::SqueezeNetFeatures(c10::Device device)
    : stem_(register_module("0", kernel_weights(3, 64, 3, device))) {
  for (const FireShape& shape : fire_shapes) {
    fires_.push_back(register_module(std::to_string(shape.place), std::make_shared<Fire>(shape, device)));
  }
}

std::vector<at::Tensor> SqueezeNetFeatures::forward(const at::Tensor& image) {
  at::Tensor map = convolve_image(image, *stem_, /*stride=*/2, /*padding=*/0);
  std::vector<at::Tensor> taps{map};
  for (const auto& fire : fires_) {
    map = fire->forward(is_among(places_behind_pools, fire->place()) ? pool(map) : map);
    if (is_among(tapped_fires, fire->place())) taps.push_back(map);
  }
  return taps;
}

}  // namespace larmor::nn
