#include "workloads/xray_vqa/network/plain_encoders.h"

#include <cmath>
#include <string>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/zeros.h>

#include "larmor/device/initialisation.h"
#include "larmor/device/run_block.h"
#include "larmor/kernels/convolution/conv2d.h"
#include "larmor/nn/blocks/batch_norm.h"

namespace larmor::xray_vqa {
namespace {

constexpr int64_t plain_padding = 0;  // the id of a token that is none

/// A convolution of pictures with a bias, drawn as PyTorch draws it.
class PlainConv final : public nn::Block {
 public:
  PlainConv(int64_t in, int64_t out, int64_t kernel, int64_t stride, c10::Device device) : stride_(stride) {
    const nn::LayerWeights drawn({out, in, kernel, kernel}, /*has_bias=*/true, device);
    weight_ = register_parameter("weight", drawn.weight().detach());
    bias_ = register_parameter("bias", drawn.bias().detach());
  }
  at::Tensor forward(const at::Tensor& input) override {
    const int64_t padding = weight_.size(2) / 2;
    return conv2d(input, weight_, bias_, {stride_, stride_}, {padding, padding});
  }

 private:
  int64_t stride_;
  at::Tensor weight_, bias_;
};

}  // namespace

PlainImageEncoder::PlainImageEncoder(c10::Device device) {
  struct Layer {
    int64_t place, in, out, kernel, stride;
  };
  for (const Layer& layer :
       {Layer{0, 3, 64, 7, 2}, Layer{4, 64, 256, 3, 1}, Layer{8, 256, map_channels, 3, 1}}) {
    convolutions_.push_back(register_module(
        std::to_string(layer.place),
        std::make_shared<PlainConv>(layer.in, layer.out, layer.kernel, layer.stride, device)));
    norms_.push_back(register_module(std::to_string(layer.place + 1),
                                     std::make_shared<nn::BatchNorm>(layer.out, device, nn::Behind::relu)));
  }
}

at::Tensor PlainImageEncoder::forward(const at::Tensor& image) {
  at::Tensor value = image;
  for (std::size_t i = 0; i < convolutions_.size(); ++i) {
    if (i > 0) value = at::max_pool2d(value, 2);
    const at::Tensor convolved = nn::run_block(convolutions_[i], value);
    value = nn::run_block(norms_[i], convolved);
  }
  return value;
}

class PlainTextEncoder::Lstm final : public torch::nn::Module {
 public:
  Lstm(int64_t in, int64_t hidden, c10::Device device) : hidden_(hidden) {
    for (const std::string direction : {"", "_reverse"}) {
      add("weight_ih_l0" + direction, {4 * hidden, in}, device);
      add("weight_hh_l0" + direction, {4 * hidden, hidden}, device);
      add("bias_ih_l0" + direction, {4 * hidden}, device);
      add("bias_hh_l0" + direction, {4 * hidden}, device);
    }
  }
  at::Tensor forward(const at::Tensor& words) {
    const at::Tensor start = at::zeros({2, words.size(0), hidden_}, words.options());
    return std::get<0>(at::lstm(words, {start, start}, weights_, /*has_biases=*/true, /*num_layers=*/1,
                                /*dropout=*/0, is_training(), /*bidirectional=*/true,
                                /*batch_first=*/true));
  }

 private:
  void add(const std::string& name, at::IntArrayRef sizes, c10::Device device) {
    weights_.push_back(register_parameter(name, at::empty(sizes, device)));
    const double bound = 1 / std::sqrt(static_cast<double>(hidden_));
    initialise_uniform(weights_.back(), -bound, bound);
  }
  int64_t hidden_;
  std::vector<at::Tensor> weights_;  // of one direction, then of the other
};

PlainTextEncoder::PlainTextEncoder(int64_t words, int64_t width, c10::Device device)
    : embedding_(
          register_module("embedding", std::make_shared<nn::LayerWeights>(at::IntArrayRef({words, width}),
                                                                          /*has_bias=*/false, device))),
      lstm_(register_module("lstm", std::make_shared<Lstm>(width, width / 2, device))) {
  embedding_->draw_normal(/*deviation=*/1);
  if (device.is_meta()) return;
  const at::NoGradGuard no_gradient;
  embedding_->weight()[plain_padding].zero_();
}

at::Tensor PlainTextEncoder::forward(const at::Tensor& tokens) {
  return nn::run_block(lstm_, at::embedding(embedding_->weight(), tokens, plain_padding));
}

}  // namespace larmor::xray_vqa
