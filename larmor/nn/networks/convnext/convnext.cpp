#include "larmor/nn/networks/convnext/convnext.h"

#include <algorithm>
#include <array>
#include <utility>

#include <c10/core/MemoryFormat.h>
#include <torch/nn/modules/container/modulelist.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/run_block.h"
#include "larmor/nn/blocks/shape_text.h"
#include "larmor/nn/networks/convnext/convnext_block.h"

namespace larmor::nn {
namespace {

constexpr int64_t convnext_stem_patch = 4;

struct ConvNextSize {
  const char* name;
  std::array<int64_t, 4> depths, dims;
};
constexpr std::array<ConvNextSize, 9> convnext_sizes = {{
    {"atto", {2, 2, 6, 2}, {40, 80, 160, 320}},
    {"femto", {2, 2, 6, 2}, {48, 96, 192, 384}},
    {"pico", {2, 2, 6, 2}, {64, 128, 256, 512}},
    {"nano", {2, 2, 8, 2}, {80, 160, 320, 640}},
    {"tiny", {3, 3, 9, 3}, {96, 192, 384, 768}},
    {"small", {3, 3, 27, 3}, {96, 192, 384, 768}},
    {"base", {3, 3, 27, 3}, {128, 256, 512, 1024}},
    {"large", {3, 3, 27, 3}, {192, 384, 768, 1536}},
    {"xlarge", {3, 3, 27, 3}, {256, 512, 1024, 2048}},
}};

ConvNextOptions checked_convnext(const ConvNextOptions& options) {
  options.check();
  return options;
}

}  // namespace

const std::vector<std::string>& ConvNextOptions::sizes() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const ConvNextSize& size : convnext_sizes) all.emplace_back(size.name);
    return all;
  }();
  return names;
}

ConvNextOptions ConvNextOptions::of_size(std::string_view size) {
  const auto found =
      std::ranges::find_if(convnext_sizes, [size](const ConvNextSize& one) { return one.name == size; });
  if (found == convnext_sizes.end())
    fail(Exit::usage, text("there is no ConvNeXt of the size `", size, "`"),
         text("take one of ", join(sizes(), ", ")));
  ConvNextOptions options;
  options.depths.assign(found->depths.begin(), found->depths.end());
  options.dims.assign(found->dims.begin(), found->dims.end());
  return options;
}

void ConvNextOptions::check() const {
  const auto has_some = [](int64_t count) { return count >= 1; };
  const bool fits = !depths.empty() && depths.size() == dims.size() &&
                    std::ranges::all_of(depths, has_some) && std::ranges::all_of(dims, has_some) &&
                    in_chans >= 1 && (form == ConvNextForm::features || num_classes >= 1);
  if (!fits)
    fail(Exit::usage, "a ConvNeXt wants as many depths as dims, and at least 1 of everything",
         "say, depths of [2, 2, 6, 2] and dims of [40, 80, 160, 320]");
}

/// Downsampling, where there is one, and blocks.
class ConvNextStage final : public torch::nn::Module {
 public:
  struct Shape {
    int64_t in_channels, channels, depth;
    bool halves;
    std::vector<double> drops;  // of the blocks
  };
  ConvNextStage(const Shape& shape, const ConvNextOptions& options, const std::string& path,
                c10::Device device) {
    if (shape.halves) {
      torch::nn::ModuleList downsample;
      norm_ = std::make_shared<ChannelNorm>(shape.in_channels, device);
      conv_ = std::make_shared<PatchConv>(shape.in_channels, shape.channels, /*patch=*/2, device);
      downsample->push_back(norm_);
      downsample->push_back(conv_);
      register_module("downsample", downsample);
    }
    torch::nn::ModuleList list;
    for (int64_t i = 0; i < shape.depth; ++i) {
      blocks_.push_back(std::make_shared<ConvNextBlock>(shape.channels, options.layer_scale,
                                                        shape.drops[static_cast<std::size_t>(i)],
                                                        text(path, ".", i), device));
      list->push_back(blocks_.back());
    }
    register_module("blocks", list);
  }

  at::Tensor forward(at::Tensor value) {
    if (conv_ != nullptr) {
      value = run_block(norm_, std::as_const(value));
      value = run_block(conv_, std::as_const(value));
    }
    return run_blocks(blocks_, std::move(value));
  }

 private:
  std::shared_ptr<Block> norm_, conv_;
  BlockList<ConvNextBlock> blocks_;
};

/// Pooling, norm, linear: the end of a classifier.
class ConvNextImpl::Head final : public torch::nn::Module {
 public:
  Head(int64_t channels, int64_t classes, c10::Device device)
      : norm_(register_module("norm", std::make_shared<LayerNorm>(channels, device, convnext_norm_epsilon))),
        fc_(register_module("fc", linear_weights(channels, classes, /*has_bias=*/true, device))) {
    fc_->draw_normal(convnext_deviation);
  }
  at::Tensor forward(const at::Tensor& map) { return linear(norm_->forward(map.mean({2, 3})), *fc_); }

 private:
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<LayerWeights> fc_;
};

ConvNextImpl::ConvNextImpl(const ConvNextOptions& options, c10::Device device, const std::string& path)
    : options_(checked_convnext(options)),
      stem_conv_(
          std::make_shared<PatchConv>(options.in_chans, options.dims.front(), convnext_stem_patch, device)),
      stem_norm_(std::make_shared<ChannelNorm>(options.dims.front(), device)) {
  const bool flat = options.form == ConvNextForm::features;
  torch::nn::ModuleList stem, stages;
  stem->push_back(stem_conv_);
  stem->push_back(stem_norm_);
  int64_t blocks = 0, block = 0;
  for (const int64_t depth : options.depths) blocks += depth;
  for (std::size_t level = 0; level < options.depths.size(); ++level) {
    ConvNextStage::Shape shape{.in_channels = options.dims[level == 0 ? 0 : level - 1],
                               .channels = options.dims[level],
                               .depth = options.depths[level],
                               .halves = level > 0,
                               .drops = {}};
    for (int64_t i = 0; i < shape.depth; ++i, ++block) {
      const double place = blocks > 1 ? static_cast<double>(block) / static_cast<double>(blocks - 1) : 0;
      shape.drops.push_back(options.drop_path_rate * place);
    }
    stages_.push_back(std::make_shared<ConvNextStage>(shape, options_, text(path, ".", level), device));
    stages->push_back(stages_.back());
  }
  if (!flat) {
    register_module("stem", stem);
    register_module("stages", stages);
    head_ = register_module("head", std::make_shared<Head>(options.dims.back(), options.num_classes, device));
    return;
  }
  register_module("stem_0", stem_conv_);
  register_module("stem_1", stem_norm_);
  for (std::size_t level = 0; level < stages_.size(); ++level)
    register_module(text("stages_", level), stages_[level]);
}

ConvNextImpl::~ConvNextImpl() = default;

at::Tensor ConvNextImpl::stem(const at::Tensor& image) {
  const int64_t least = convnext_stem_patch << (stages_.size() - 1);
  if (image.dim() != 4 || image.size(1) != options_.in_chans || image.size(2) < least ||
      image.size(3) < least)
    fail(Exit::usage,
         text("the ConvNeXt takes pictures [N, ", options_.in_chans, ", H, W] of at least ", least, " x ",
              least, " pixels, and got ", shape_text(image.sizes())),
         "give it pictures of these channels and sizes");
  // Norms and linear layers read the channels of a pixel together; in this layout they lie together, too.
  const at::Tensor value = run_block(stem_conv_, image.contiguous(at::MemoryFormat::ChannelsLast));
  return run_block(stem_norm_, value);
}

std::vector<at::Tensor> ConvNextImpl::maps(const at::Tensor& image) {
  std::vector<at::Tensor> all;
  at::Tensor value = stem(image);
  for (const auto& stage : stages_) all.push_back(value = stage->forward(std::move(value)));
  return all;
}

at::Tensor ConvNextImpl::features(const at::Tensor& image) {
  at::Tensor value = stem(image);
  for (const auto& stage : stages_) value = stage->forward(std::move(value));
  return value;
}

at::Tensor ConvNextImpl::forward(const at::Tensor& image) { return run_block(head_, features(image)); }

}  // namespace larmor::nn
