// Batch normalisation in training, a sum and ReLU, forward and backward, by larmor::batch_norm_relu() and by
// libtorch's three operators, in turns: batch_norm_relu THREADS PAIRS [EDGE CHANNELS...]. One line of JSON a
// case: median times, the median of the ratios, the least of them, and libtorch beside itself (A/A). Times
// are those of the processor, since the machine may be busy, and memory is kept between calls, as ranks keep
// it.
#include "larmor/kernels/batch_norm_relu.h"

#include <algorithm>
#include <climits>
#include <ctime>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <malloc.h>
#include <nlohmann/json.hpp>

#include "larmor/base/error.h"
#include "larmor/base/json.h"

namespace larmor {
namespace {

constexpr int64_t samples = 4;
constexpr double epsilon = 1e-5;

struct BenchCase {
  int64_t channels, edge;
  at::ScalarType type;
  bool channels_last, adds;
};

struct BenchTensors;
using Norm = std::function<at::Tensor(const BenchTensors&)>;

struct BenchTensors {
  explicit BenchTensors(const BenchCase& of)
      : input(lay_out(of)),
        gradient(lay_out(of)),
        residual(of.adds ? lay_out(of) : at::Tensor()),
        weight(at::rand({of.channels}).requires_grad_()),
        bias(at::rand({of.channels}).requires_grad_()) {
    input.requires_grad_();
    if (of.adds) residual.requires_grad_();
  }

  static at::Tensor lay_out(const BenchCase& of) {
    const at::Tensor plain = at::randn({samples, of.channels, of.edge, of.edge, of.edge}).to(of.type);
    return of.channels_last ? plain.contiguous(at::MemoryFormat::ChannelsLast3d) : plain;
  }

  at::Tensor input, gradient, residual, weight, bias;
};

at::Tensor by_larmor(const BenchTensors& with) {
  const BatchMoments moments = batch_moments(with.input, nullptr);
  return batch_norm_relu(with.input, moments,
                         {.weight = with.weight,
                          .bias = with.bias,
                          .residual = with.residual,
                          .activated = true,
                          .epsilon = epsilon});
}

at::Tensor by_libtorch(const BenchTensors& with) {
  at::Tensor value = at::batch_norm(with.input, with.weight, with.bias, {}, {}, /*training=*/true,
                                    /*momentum=*/0, epsilon, /*cudnn_enabled=*/false);
  if (with.residual.defined()) value.add_(with.residual);
  return at::relu_(value);
}

double milliseconds(const Norm& norm, BenchTensors& with) {
  const std::clock_t begin = std::clock();
  norm(with).backward(with.gradient);
  const std::clock_t end = std::clock();
  for (at::Tensor* const tensor : {&with.input, &with.residual, &with.weight, &with.bias}) {
    if (tensor->defined()) tensor->mutable_grad().reset();
  }
  return static_cast<double>(end - begin) * 1e3 / CLOCKS_PER_SEC;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Json measure_case(const BenchCase& of, int pairs) {
  BenchTensors with(of);
  std::vector<double> own, peer, ratio, same;
  milliseconds(by_larmor, with);
  milliseconds(by_libtorch, with);
  for (int turn = 0; turn < pairs; ++turn) {
    // Who comes first changes from pair to pair; between two of the peer's lies one of ours.
    if (turn % 2 == 0) own.push_back(milliseconds(by_larmor, with));
    peer.push_back(milliseconds(by_libtorch, with));
    if (turn % 2 == 1) own.push_back(milliseconds(by_larmor, with));
    ratio.push_back(peer.back() / own.back());
    if (turn % 2 == 1) same.push_back(peer[peer.size() - 2] / peer.back());
  }
  Json row;
  row["channels"] = of.channels;
  row["edge"] = of.edge;
  row["type"] = c10::toString(of.type);
  row["behind"] = of.adds ? "sum and ReLU" : "ReLU";
  row["layout"] = of.channels_last ? "NDHWC" : "NCDHW";
  row["larmor_ms"] = median_of(own);
  row["libtorch_ms"] = median_of(peer);
  row["times_as_fast"] = median_of(ratio);
  row["times_as_fast_least"] = *std::min_element(ratio.begin(), ratio.end());
  row["libtorch_beside_itself"] = median_of(same);
  return row;
}

void measure_cases(int64_t channels, int64_t edge, int pairs) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const bool last : {false, true}) {
      for (const bool adds : {false, true})
        std::cout << measure_case({channels, edge, type, last, adds}, pairs).dump() << std::endl;
    }
  }
}

}  // namespace
}  // namespace larmor

int main(int count, char** words) {
  if (count < 3 || (count > 3 && count < 5)) {
    std::cerr << "batch_norm_relu takes THREADS PAIRS [EDGE CHANNELS...]\n";
    return static_cast<int>(larmor::Exit::usage);
  }
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  at::set_num_threads(std::stoi(words[1]));
  const int pairs = std::max(std::stoi(words[2]), 2);
  if (count > 3) {
    for (int i = 4; i < count; ++i) larmor::measure_cases(std::stoll(words[i]), std::stoll(words[3]), pairs);
    return 0;
  }
  // The levels of a ResNet that is given 64 x 64 x 32 voxels, nearly.
  larmor::measure_cases(64, 48, pairs);
  larmor::measure_cases(64, 24, pairs);
  larmor::measure_cases(128, 12, pairs);
  larmor::measure_cases(256, 6, pairs);
  larmor::measure_cases(512, 3, pairs);
  return 0;
}
