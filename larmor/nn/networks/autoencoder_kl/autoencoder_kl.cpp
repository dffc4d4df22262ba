#include "larmor/nn/networks/autoencoder_kl/autoencoder_kl.h"

#include <ATen/ops/clamp.h>
#include <ATen/ops/exp.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/run_block.h"
#include "larmor/nn/blocks/attention_block.h"
#include "larmor/nn/blocks/group_norm.h"
#include "larmor/nn/blocks/one_or_each.h"
#include "larmor/nn/blocks/resample_block.h"
#include "larmor/nn/blocks/shape_text.h"
#include "larmor/nn/networks/autoencoder_kl/res_block.h"
#include "larmor/nn/networks/checked.h"

namespace larmor::nn {
namespace {

/// Appends blocks and keeps the running number of channels.
class ChainBuilder {
 public:
  ChainBuilder(const AutoencoderKlOptions& options, c10::Device device)
      : options_(options), device_(device) {}

  void conv(int64_t in, int64_t out) {
    add(std::make_shared<ConvBlock>(ConvShape{in, out}, device_));
    channels_ = out;
  }
  void res(int64_t out) {
    add(std::make_shared<ResBlock>(channels_, out, options_.norm_num_groups, options_.norm_eps, device_));
    channels_ = out;
  }
  void attention() {
    add(std::make_shared<AttentionBlock>(channels_, options_.norm_num_groups, options_.norm_eps, device_));
  }
  void level(std::size_t index) {
    for (int64_t i = 0; i < options_.res_blocks(index); ++i) {
      res(options_.channels[index]);
      if (options_.attention_levels[index]) attention();
    }
  }
  void nonlocal() {
    res(channels_);
    attention();
    res(channels_);
  }
  void downsample() { add(std::make_shared<Downsample>(channels_, device_)); }
  void upsample() { add(std::make_shared<Upsample>(channels_, device_)); }
  /// No activation stands between the last norm and the last convolution.
  std::shared_ptr<Chain> finish(int64_t out) {
    add(std::make_shared<GroupNorm>(options_.norm_num_groups, channels_, options_.norm_eps, device_));
    conv(channels_, out);
    return chain_;
  }

 private:
  void add(std::shared_ptr<Block> block) { chain_->push_back(std::move(block)); }

  const AutoencoderKlOptions& options_;
  c10::Device device_;
  std::shared_ptr<Chain> chain_ = std::make_shared<Chain>();
  int64_t channels_ = 0;
};

std::shared_ptr<Chain> make_encoder(const AutoencoderKlOptions& options, c10::Device device) {
  ChainBuilder builder(options, device);
  builder.conv(options.in_channels, options.channels.front());
  for (std::size_t level = 0; level < options.channels.size(); ++level) {
    if (level > 0) builder.downsample();
    builder.level(level);
  }
  if (options.with_encoder_nonlocal_attn) builder.nonlocal();
  return builder.finish(options.latent_channels);
}

std::shared_ptr<Chain> make_decoder(const AutoencoderKlOptions& options, c10::Device device) {
  ChainBuilder builder(options, device);
  builder.conv(options.latent_channels, options.channels.back());
  if (options.with_decoder_nonlocal_attn) builder.nonlocal();
  for (std::size_t level = options.channels.size(); level-- > 0;) {
    builder.level(level);
    if (level > 0) builder.upsample();
  }
  return builder.finish(options.out_channels);
}

std::shared_ptr<ConvBlock> make_quant_conv(const AutoencoderKlOptions& options, c10::Device device) {
  return std::make_shared<ConvBlock>(ConvShape{.in_channels = options.latent_channels,
                                               .out_channels = options.latent_channels,
                                               .kernel = 1,
                                               .padding = 0},
                                     device);
}

}  // namespace

void AutoencoderKlOptions::describe(Fields& f) {
  f.field("spatial_dims", spatial_dims, "axes of space: volumes only", Range{3, 3});
  f.field("in_channels", in_channels, "channels of the image", at_least_one);
  f.field("out_channels", out_channels, "channels of the reconstruction", at_least_one);
  f.field("channels", channels, "feature channels of each level; each level halves the resolution",
          at_least_one);
  describe_one_or_each(f, "num_res_blocks", num_res_blocks, channels.size(),
                       "residual blocks of each level; a list of one number holds for all");
  f.field("attention_levels", attention_levels, "which levels have self-attention after each residual block");
  f.field("latent_channels", latent_channels, "channels of the latent", at_least_one);
  f.field("norm_num_groups", norm_num_groups,
          "groups of the group normalisation; divides every level's channels", at_least_one);
  f.field("norm_eps", norm_eps, "added to the variance by the group normalisation", at_least_zero);
  f.field("with_encoder_nonlocal_attn", with_encoder_nonlocal_attn,
          "self-attention at the end of the encoder");
  f.field("with_decoder_nonlocal_attn", with_decoder_nonlocal_attn,
          "self-attention at the start of the decoder");
}

void AutoencoderKlOptions::check() const {
  const std::size_t levels = channels.size();
  if (spatial_dims != 3)
    fail(Exit::usage, text("model.spatial_dims is ", spatial_dims, ", and the autoencoder works on volumes"),
         "set model.spatial_dims=3");
  if (levels == 0) fail(Exit::usage, "model.channels is empty", "give one number of channels per level");
  if (attention_levels.size() != levels)
    fail(Exit::usage,
         text("model.attention_levels has ", attention_levels.size(), " entries for ", levels, " levels"),
         "give one true or false for each entry of model.channels");
  if (num_res_blocks.size() != levels && num_res_blocks.size() != 1)
    fail(Exit::usage,
         text("model.num_res_blocks has ", num_res_blocks.size(), " entries for ", levels, " levels"),
         "give one number for each entry of model.channels, or one for all");
  for (const int64_t count : num_res_blocks) {
    if (count < 1)
      fail(Exit::usage, text("model.num_res_blocks has the entry ", count),
           "each level needs one residual block at least");
  }
  for (const int64_t count : channels) {
    if (norm_num_groups < 1 || count < 1 || count % norm_num_groups != 0)
      fail(Exit::usage,
           text("model.channels has the entry ", count, ", which model.norm_num_groups=", norm_num_groups,
                " does not divide"),
           "choose channels that are multiples of model.norm_num_groups");
  }
  if (in_channels < 1 || out_channels < 1 || latent_channels < 1)
    fail(Exit::usage,
         text("model.in_channels=", in_channels, ", out_channels=", out_channels,
              ", latent_channels=", latent_channels, ": each has to be 1 at least"),
         "set all three to 1 or more");
}

int64_t AutoencoderKlOptions::res_blocks(std::size_t level) const {
  return num_res_blocks.size() == 1 ? num_res_blocks.front() : num_res_blocks.at(level);
}

int64_t AutoencoderKlOptions::size_divisor() const { return int64_t{1} << (channels.size() - 1); }

AutoencoderKlImpl::AutoencoderKlImpl(const AutoencoderKlOptions& options, c10::Device device)
    : options_(checked(options)) {
  encoder_ = register_module("encoder", make_encoder(options_, device));
  decoder_ = register_module("decoder", make_decoder(options_, device));
  quant_mean_ = register_module("quant_conv_mu", make_quant_conv(options_, device));
  quant_log_variance_ = register_module("quant_conv_log_sigma", make_quant_conv(options_, device));
  post_quant_ = register_module("post_quant_conv", make_quant_conv(options_, device));
}

std::pair<at::Tensor, at::Tensor> AutoencoderKlImpl::encode(const at::Tensor& image) {
  latent_shape(image.sizes());  // refuses an image that does not fit
  const at::Tensor features = encoder_->forward(image);
  const at::Tensor log_variance = at::clamp(run_block(quant_log_variance_, features), -30.0, 20.0);
  return {run_block(quant_mean_, features), at::exp(log_variance / 2)};
}

at::Tensor AutoencoderKlImpl::decode(const at::Tensor& latent) {
  return decoder_->forward(run_block(post_quant_, latent));
}

AutoencoderKlOutput AutoencoderKlImpl::forward(const at::Tensor& image, const at::Tensor& noise) {
  auto [mean, sigma] = encode(image);
  at::Tensor reconstruction = decode(mean + sigma * noise);
  return {std::move(reconstruction), std::move(mean), std::move(sigma)};
}

at::Tensor AutoencoderKlImpl::reconstruct(const at::Tensor& image) { return decode(encode(image).first); }

std::vector<int64_t> AutoencoderKlImpl::latent_shape(at::IntArrayRef image) const {
  const int64_t divisor = options_.size_divisor();
  bool fits = image.size() == 5 && image[1] == options_.in_channels;
  std::vector<int64_t> shape = image.vec();
  for (std::size_t axis = 2; axis < shape.size(); ++axis) {
    fits = fits && shape[axis] > 0 && shape[axis] % divisor == 0;
    shape[axis] /= divisor;
  }
  if (!fits)
    fail(Exit::data,
         text("the autoencoder takes [N, ", options_.in_channels, ", D, H, W] with D, H and W multiples of ",
              divisor, ", and got an image of the shape ", shape_text(image)),
         "choose a crop whose sizes are multiples of 2^(levels - 1), and model.in_channels as the data has "
         "them");
  shape[1] = options_.latent_channels;
  return shape;
}

}  // namespace larmor::nn
