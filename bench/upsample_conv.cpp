// larmor::upsample_conv() beside libtorch's upsample_nearest3d and conv3d, forward and backward, in turns:
// upsample_conv CHANNELS VOXELS_OF_AN_EDGE SAMPLES fp32|bf16 PAIRS. The peer's time is that of its better
// layout of each pair; ours is that of one layout. A/A is ours beside ours.
#include "larmor/kernels/convolution/upsample_conv.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include "larmor/base/error.h"
#include "larmor/base/json.h"

#include "bench/in_turns.h"

namespace larmor {
namespace {

using Doubling = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&);

at::Tensor upsample_then_convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  const std::vector<double> twice(3, 2.0);
  return at::conv3d(at::upsample_nearest3d(input, at::OptionalIntArrayRef(), twice), weight, bias, 1, 1);
}

struct Layer {
  Layer(int64_t channels, int64_t edge, int64_t samples, at::ScalarType type, at::MemoryFormat layout)
      : input(learnt({samples, channels, edge, edge, edge}, type, layout)),
        weight(learnt({channels, channels, 3, 3, 3}, type, layout)),
        bias(at::randn({channels}, type).requires_grad_()),
        gradient(at::randn({samples, channels, 2 * edge, 2 * edge, 2 * edge}, type).contiguous(layout)) {}

  static at::Tensor learnt(at::IntArrayRef sizes, at::ScalarType type, at::MemoryFormat layout) {
    return (0.1 * at::randn(sizes, type)).contiguous(layout).requires_grad_();
  }

  double milliseconds(Doubling* double_image) const {
    for (const at::Tensor& tensor : {input, weight, bias}) tensor.mutable_grad() = at::Tensor();
    const auto begin = std::chrono::steady_clock::now();
    double_image(input, weight, bias).backward(gradient);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }

  at::Tensor input, weight, bias, gradient;
};

/// `layer` is in our layout; `layers` has both, for the peer.
Json measure_pairs(const Layer& layer, const std::vector<Layer>& layers, int pairs) {
  std::vector<double> own, peer, ratio, itself;
  const auto ours = [&] { return layer.milliseconds(upsample_conv); };
  const auto theirs = [&] {
    return std::min(layers[0].milliseconds(upsample_then_convolve),
                    layers[1].milliseconds(upsample_then_convolve));
  };
  ours();
  theirs();
  for (int turn = 0; turn < pairs; ++turn) {
    // The peer comes first in every second pair.
    const bool peer_first = turn % 2 == 1;
    if (peer_first) peer.push_back(theirs());
    own.push_back(ours());
    if (!peer_first) peer.push_back(theirs());
    ratio.push_back(peer.back() / own.back());
    itself.push_back(ours() / own.back());
  }
  Json result;
  result["larmor_ms"] = median_of(own);
  result["libtorch_ms"] = median_of(peer);
  result["times_as_fast"] = median_of(ratio);
  result["times_as_fast_by_minima"] =
      *std::min_element(peer.begin(), peer.end()) / *std::min_element(own.begin(), own.end());
  result["a_a"] = median_of(itself);
  return result;
}

}  // namespace
}  // namespace larmor

int main(int count, char** words) {
  if (count != 6) {
    std::cerr << "upsample_conv takes CHANNELS VOXELS_OF_AN_EDGE SAMPLES fp32|bf16 PAIRS\n";
    return static_cast<int>(larmor::Exit::usage);
  }
  at::set_num_threads(1);
  const int64_t channels = std::stoll(words[1]), edge = std::stoll(words[2]), samples = std::stoll(words[3]);
  const at::ScalarType type = std::string(words[4]) == "bf16" ? at::kBFloat16 : at::kFloat;
  std::vector<larmor::Layer> layers;
  for (const auto layout : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast3d})
    layers.emplace_back(channels, edge, samples, type, layout);
  larmor::Json result;
  result["contiguous"] = larmor::measure_pairs(layers[0], layers, std::stoi(words[5]));
  result["channels_last_3d"] = larmor::measure_pairs(layers[1], layers, std::stoi(words[5]));
  std::cout << result.dump() << "\n";
  return 0;
}
