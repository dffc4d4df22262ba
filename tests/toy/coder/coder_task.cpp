#include "tests/toy/coder/coder_task.h"

#include <ATen/ATen.h>

#include "larmor/device/initialisation.h"
#include "larmor/kernels/draw/draw.h"
#include "larmor/task/prediction.h"

#include "tests/toy/active_conv.h"

namespace larmor::toy {

namespace {
constexpr int64_t sampled_size = 4;  // of a latent's axis
}

CoderNet::CoderNet(int64_t in_channels, int64_t channels, c10::Device device)
    : encoder_(register_module("encoder", std::make_shared<nn::Chain>())),
      decoder_(register_module("decoder", std::make_shared<nn::Chain>())) {
  const auto conv = [](int64_t in, int64_t out, int64_t stride = 1) {
    return nn::ConvShape{.in_channels = in, .out_channels = out, .stride = stride};
  };
  encoder_->push_back(std::make_shared<ActiveConv>(conv(in_channels, channels), device));
  encoder_->push_back(std::make_shared<ActiveConv>(conv(channels, channels, /*stride=*/2), device));
  encoder_->push_back(std::make_shared<nn::ConvBlock>(conv(channels, latent_channels), device));
  decoder_->push_back(std::make_shared<ActiveConv>(conv(latent_channels, channels), device));
  decoder_->push_back(std::make_shared<ActiveConv>(conv(channels, channels), device));
  decoder_->push_back(std::make_shared<nn::ConvBlock>(conv(channels, in_channels), device));
}

at::Tensor CoderNet::encode(const at::Tensor& image) { return encoder_->forward(image); }

at::Tensor CoderNet::decode(const at::Tensor& latent) {
  const auto sizes = latent.sizes();
  return decoder_->forward(at::upsample_nearest3d(latent, {2 * sizes[2], 2 * sizes[3], 2 * sizes[4]}));
}

CoderTask::CoderTask(int64_t in_channels, int64_t channels, uint64_t seed, c10::Device device) {
  const SeededInitialisation initialisation(seed);
  network_ = std::make_shared<CoderNet>(in_channels, channels, device);
}

std::vector<Objective> CoderTask::objectives() { return {{.name = "coder", .network = network_.get()}}; }

std::vector<at::Tensor> CoderTask::losses(const Batch& batch, const StepContext& context) {
  const auto& image = batch.at("image");
  const auto loss = at::mse_loss(network_->decode(network_->encode(image)), image);
  context.record("loss", loss);
  return {loss};
}

void CoderTask::validate(const Batch& batch, Metrics& metrics) {
  const auto& image = batch.at("image");
  const auto rebuilt = network_->decode(network_->encode(image));
  for (int64_t row = 0; row < batch.size(); ++row) {
    const auto error = at::mse_loss(rebuilt[row].to(at::kDouble), image[row].to(at::kDouble));
    metrics.value("loss", batch.keys[static_cast<size_t>(row)].example, error.item<double>());
  }
}

Prediction CoderTask::predict(const Batch& /*inputs*/, const PredictionContext& context) {
  const auto like = at::empty({1, latent_channels, sampled_size, sampled_size, sampled_size}, context.device);
  const auto image = network_->decode(draw_normal_like(like, "coder.latent"));
  return {
      .volumes = {{"sample", {.voxels = image[0].to(at::kCPU).contiguous(), .affine = identity_affine()}}}};
}

}  // namespace larmor::toy
