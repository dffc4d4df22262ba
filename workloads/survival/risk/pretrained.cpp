#include "workloads/survival/risk/pretrained.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"
#include "larmor/device/module_state.h"

namespace larmor::survival {
namespace {

using std::string_view;

constexpr std::array<string_view, 5> wrapper_prefixes = {"module.", "state_dict.", "model.", "net.",
                                                         "backbone."};
constexpr std::array<string_view, 2> left_behind = {"fc.", "conv_seg."};

string_view without_wrappers(string_view name) {
  for (bool found = true; found;) {
    found = false;
    for (const string_view prefix : wrapper_prefixes) {
      if (!name.starts_with(prefix)) continue;
      name.remove_prefix(prefix.size());
      found = true;
    }
  }
  return name;
}

bool is_left_behind(string_view name) {
  return std::ranges::any_of(left_behind, [&](string_view prefix) { return name.starts_with(prefix); });
}

NamedTensors unwrapped(const NamedTensors& tensors, const std::string& source) {
  NamedTensors plain;
  for (const auto& [name, tensor] : tensors) {
    const std::string bare(without_wrappers(name));
    if (!plain.emplace(bare, tensor).second)
      fail(Exit::usage, text(source, " holds ", bare, " twice, under different prefixes"),
           "keep one of the two networks in it: tools/weights_to_safetensors.py takes the one under --key");
  }
  return plain;
}

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

std::string shape_of(const at::Tensor& tensor) {
  std::vector<std::string> sizes;
  for (const int64_t size : tensor.sizes()) sizes.push_back(text(size));
  return "[" + join(sizes, ", ") + "]";
}

constexpr std::size_t most_shown = 8;

std::string beginning_of(const std::vector<std::string>& words) {
  std::string line = join(std::span(words).first(std::min(most_shown, words.size())), ", ");
  if (words.size() > most_shown) line += text(", and ", words.size() - most_shown, " more");
  return line;
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

void refuse_other_shapes(const NamedTensors& own, const NamedTensors& file, const std::string& source) {
  std::vector<std::string> faults;
  for (const auto& [name, tensor] : file) {
    const auto found = own.find(name);
    if (found == own.end() || is_left_behind(name) || found->second.sizes() == tensor.sizes()) continue;
    faults.push_back(text(name, " is ", shape_of(tensor), " there and ", shape_of(found->second), " here"));
  }
  if (faults.empty()) return;
  fail(Exit::usage, text("the weights in ", source, " have other shapes:", items(faults, most_shown)),
       shape_hint(own, file));
}

std::vector<std::string> names_of(const NamedTensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
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
  const NamedTensors own = state_dict(network), file = unwrapped(tensors, source);
  refuse_other_shapes(own, file, source);

  StartReport report;
  report.source = source;
  report.in_network = static_cast<int64_t>(own.size());
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  for (const auto& [name, tensor] : file) {
    const auto found = own.find(name);
    if (is_left_behind(name)) {
      report.left.push_back(name);
    } else if (found == own.end()) {
      report.not_in_network.push_back(name);
    } else {
      copies.emplace_back(found->second, tensor);
    }
  }
  if (copies.empty())
    fail(Exit::usage,
         text("nothing in ", source, " fits the network: there are ", beginning_of(names_of(file)),
              " there, and ", beginning_of(names_of(own)), " here"),
         "give model.weights the weights of a 3-D ResNet under MONAI's or MedicalNet's names");
  for (const auto& [name, tensor] : own) {
    if (!file.contains(name)) report.not_in_file.push_back(name);
  }
  report.copied = static_cast<int64_t>(copies.size());
  report.advice = advice_on(report, own, file);

  const c10::NoGradGuard no_grad;
  for (const auto& [target, tensor] : copies) target.copy_(tensor);
  return report;
}

std::vector<std::string> lines_of(const StartReport& report) {
  std::vector<std::string> lines = {
      text("started from ", report.source, ": ", report.copied, " of ", report.in_network, " tensors")};
  const auto add = [&](string_view what, const std::vector<std::string>& names) {
    if (!names.empty()) lines.push_back(text(what, ": ", beginning_of(names)));
  };
  add("left in the file", report.left);
  add("not in the network", report.not_in_network);
  add("not in the file", report.not_in_file);
  lines.insert(lines.end(), report.advice.begin(), report.advice.end());
  return lines;
}

}  // namespace larmor::survival
