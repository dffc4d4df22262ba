#include "workloads/survival/risk/pretrained.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "larmor/base/text.h"

namespace larmor::survival {
namespace {

using std::string_view;

// The ResNet whose blocks these are, as far as their names tell.
struct ResNetFacts {
  std::array<int64_t, 4> blocks{};
  bool bottleneck = false;
  bool operator==(const ResNetFacts&) const = default;
};

ResNetFacts facts_of(const NamedTensors& tensors) {
  ResNetFacts facts;
  std::set<string_view> seen;
  for (const auto& [name, tensor] : tensors) {
    const string_view view = name;
    const std::size_t block_end = view.find('.', view.find('.') + 1);
    if (!view.starts_with("layer") || block_end == string_view::npos) continue;
    const char level = view[5];
    if (level < '1' || level > '4') continue;
    if (seen.insert(view.substr(0, block_end)).second) ++facts.blocks[static_cast<std::size_t>(level - '1')];
    facts.bottleneck = facts.bottleneck || view.ends_with(".conv3.weight");
  }
  return facts;
}

// 34 and 50 layers have the same number of blocks, of two kinds.
std::optional<int64_t> depth_of(const ResNetFacts& facts) {
  struct Known {
    std::array<int64_t, 4> blocks;
    bool bottleneck;
    int64_t depth;
  };
  constexpr std::array<Known, 7> all = {{{{1, 1, 1, 1}, false, 10},
                                         {{2, 2, 2, 2}, false, 18},
                                         {{3, 4, 6, 3}, false, 34},
                                         {{3, 4, 6, 3}, true, 50},
                                         {{3, 4, 23, 3}, true, 101},
                                         {{3, 8, 36, 3}, true, 152},
                                         {{3, 24, 36, 3}, true, 200}}};
  for (const Known& known : all) {
    if (known.blocks == facts.blocks && known.bottleneck == facts.bottleneck) return known.depth;
  }
  return std::nullopt;
}

std::string depth_advice(const ResNetFacts& of_file) {
  const auto depth = depth_of(of_file);
  return depth ? text("model.depth=", *depth) : "model.depth to that of the file";
}

std::string axes_of(const at::Tensor& kernel) {
  return text("[", kernel.size(2), ", ", kernel.size(3), ", ", kernel.size(4), "]");
}

// What the first convolution, [channels, image channels, D, H, W], says of the keys.
std::vector<std::string> stem_advice(const at::Tensor& theirs, const at::Tensor& ours) {
  constexpr double usual_channels = 64;
  std::vector<std::string> keys;
  if (theirs.dim() != 5) return keys;
  if (theirs.size(0) != ours.size(0))
    keys.push_back(text("model.widen_factor=", static_cast<double>(theirs.size(0)) / usual_channels));
  if (theirs.size(1) != ours.size(1)) keys.push_back(text("model.n_input_channels=", theirs.size(1)));
  if (theirs.sizes().slice(2) != ours.sizes().slice(2))
    keys.push_back(text("model.conv1_t_size=", axes_of(theirs)));
  return keys;
}

std::string shape_hint(const NamedTensors& own, const NamedTensors& file) {
  std::vector<std::string> keys;
  const ResNetFacts of_file = facts_of(file);
  if (facts_of(own) != of_file) keys.push_back(depth_advice(of_file));
  const auto stem = file.find("conv1.weight"), own_stem = own.find("conv1.weight");
  if (stem != file.end() && own_stem != own.end())
    std::ranges::move(stem_advice(stem->second, own_stem->second), std::back_inserter(keys));
  if (keys.empty()) return "start from the weights of a 3-D ResNet of the same model.depth and widths";
  return "for the file's network set " + join(keys, ", ");
}

bool any_ends_with(const std::vector<std::string>& names, string_view end) {
  return std::ranges::any_of(names, [&](const std::string& name) { return name.ends_with(end); });
}

std::vector<std::string> advice_on(const StartReport& report, const NamedTensors& own,
                                   const NamedTensors& file) {
  constexpr string_view shortcut_bias = ".downsample.0.bias", shortcut = ".downsample.0.weight";
  std::vector<std::string> advice;
  const ResNetFacts of_file = facts_of(file);
  if (facts_of(own) != of_file)
    advice.push_back(text("the file is of another depth: set ", depth_advice(of_file)));
  if (any_ends_with(report.not_in_network, shortcut))
    advice.emplace_back("the file's shortcuts are convolutions: set model.shortcut_type=B");
  else if (any_ends_with(report.not_in_network, shortcut_bias))
    advice.emplace_back("the file's shortcuts have a bias that is lost here: set model.bias_downsample=true");
  if (facts_of(own) == of_file && any_ends_with(report.not_in_file, shortcut))
    advice.emplace_back("the file's shortcuts are no convolutions: set model.shortcut_type=A");
  else if (any_ends_with(report.not_in_file, shortcut_bias))
    advice.emplace_back("the file's shortcuts have no bias; here it starts at 0, which changes nothing");
  if (file.contains("bn1.running_mean") && !own.contains("bn1.running_mean"))
    advice.emplace_back(
        "the file was trained with batch norm, and its running statistics are lost here: set "
        "model.norm=batch to keep them");
  return advice;
}

}  // namespace

StartReport start_from(torch::nn::Module& network, const NamedTensors& tensors, const std::string& source) {
  return larmor::start_from(
      network, tensors, source,
      {.left_behind = {"fc.", "conv_seg.", "covariates."},
       .renames = {},
       .what_fits = "give model.weights the weights of a 3-D ResNet under MONAI's or MedicalNet's names",
       .shape_hint = shape_hint,
       .advise = advice_on});
}

}  // namespace larmor::survival
