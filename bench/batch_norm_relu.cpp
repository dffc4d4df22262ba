// Batch normalisation in training, a sum and ReLU, forward and backward, by larmor::batch_norm_relu() and by
// libtorch's three operators, in turns: batch_norm_relu THREADS PAIRS [EDGE CHANNELS...]. One line of JSON a
// case.
#include "larmor/kernels/norms/batch_norm_relu.h"

#include <functional>
#include <iostream>

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include "bench/in_turns.h"

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
  const double time = processor_milliseconds([&] { norm(with).backward(with.gradient); });
  for (at::Tensor* const tensor : {&with.input, &with.residual, &with.weight, &with.bias}) {
    if (tensor->defined()) tensor->mutable_grad().reset();
  }
  return time;
}

void measure_case(const BenchCase& of, int pairs) {
  BenchTensors with(of);
  Json row;
  row["channels"] = of.channels;
  row["edge"] = of.edge;
  row["type"] = c10::toString(of.type);
  row["behind"] = of.adds ? "sum and ReLU" : "ReLU";
  row["layout"] = of.channels_last ? "NDHWC" : "NCDHW";
  measure_in_turns([&] { return milliseconds(by_larmor, with); },
                   [&] { return milliseconds(by_libtorch, with); }, pairs, row);
  std::cout << row.dump() << std::endl;
}

void measure_cases(const NormSizes& sizes, int pairs) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const bool last : {false, true}) {
      for (const bool adds : {false, true})
        measure_case({sizes.channels, sizes.edge, type, last, adds}, pairs);
    }
  }
}

}  // namespace
}  // namespace larmor

int main(int count, char** words) {
  // The levels of a ResNet that is given 64 x 64 x 32 voxels, nearly.
  return larmor::measure_norms(count, words, {{64, 48}, {64, 24}, {128, 12}, {256, 6}, {512, 3}},
                               larmor::measure_cases);
}
