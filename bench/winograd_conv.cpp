// larmor::conv3d() with a kernel of 3³ on volumes with channels last beside libtorch's, which is oneDNN's,
// forward and backward in float32, in turns: winograd_conv IN OUT VOXELS_OF_AN_EDGE SAMPLES PAIRS, channels
// in sixteens. The distances are from float64, over its norm: the farthest of output and gradients.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/device/layout.h"
#include "larmor/device/memory/block_pool.h"
#include "larmor/kernels/convolution/conv3d.h"

#include "bench/in_turns.h"

namespace larmor {
namespace {

using Convolve = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&);

at::Tensor ours(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  return conv3d(input, weight, bias, {1, 1, 1}, {1, 1, 1});
}
at::Tensor theirs(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  return at::conv3d(input, weight, bias, 1, 1);
}

struct Layer {
  Layer(int64_t in, int64_t out, int64_t edge, int64_t samples)
      : input(learnt({samples, in, edge, edge, edge})),
        weight(learnt({out, in, 3, 3, 3})),
        bias(at::randn({out}).requires_grad_()),
        gradient(at::randn({samples, out, edge, edge, edge}).contiguous(at::MemoryFormat::ChannelsLast3d)) {}

  static at::Tensor learnt(at::IntArrayRef sizes) {
    return (0.1 * at::randn(sizes)).contiguous(at::MemoryFormat::ChannelsLast3d).requires_grad_();
  }

  double milliseconds(Convolve* convolve) const {
    for (const at::Tensor& tensor : {input, weight, bias}) tensor.mutable_grad() = at::Tensor();
    const LayoutScope layout(Layout::channels_last);
    return processor_milliseconds([&] { convolve(input, weight, bias).backward(gradient); });
  }

  std::vector<at::Tensor> results(Convolve* convolve, at::ScalarType type) const {
    std::vector<at::Tensor> leaves;
    for (const at::Tensor& tensor : {input, weight, bias})
      leaves.push_back(tensor.detach().to(type).requires_grad_());
    const LayoutScope layout(Layout::channels_last);
    const at::Tensor output = convolve(leaves[0], leaves[1], leaves[2]);
    output.backward(gradient.to(type));
    return {output.detach(), leaves[0].grad(), leaves[1].grad(), leaves[2].grad()};
  }

  double distance(Convolve* convolve) const {
    const auto exact = results(theirs, at::kDouble), found = results(convolve, at::kFloat);
    double most = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
      const double apart = (found[i].to(at::kDouble) - exact[i]).norm().item<double>();
      most = std::max(most, apart / exact[i].norm().item<double>());
    }
    return most;
  }

  at::Tensor input, weight, bias, gradient;
};

Json measure(const Layer& layer, int pairs) {
  Json row;
  measure_in_turns([&] { return layer.milliseconds(ours); }, [&] { return layer.milliseconds(theirs); },
                   pairs, row);
  row["larmor_distance"] = layer.distance(ours);
  row["libtorch_distance"] = layer.distance(theirs);
  return row;
}

}  // namespace
}  // namespace larmor

int main(int count, char** words) {
  if (count != 6) {
    std::cerr << "winograd_conv takes IN OUT VOXELS_OF_AN_EDGE SAMPLES PAIRS\n";
    return static_cast<int>(larmor::Exit::usage);
  }
  larmor::start_block_pool();
  at::set_num_threads(1);
  const larmor::Layer layer(std::stoll(words[1]), std::stoll(words[2]), std::stoll(words[3]),
                            std::stoll(words[4]));
  std::cout << larmor::measure(layer, std::max(std::stoi(words[5]), 2)).dump() << "\n";
  return 0;
}
