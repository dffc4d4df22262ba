// Group normalisation with SiLU, forward and backward, by larmor::group_norm_silu() and by libtorch's two
// operators, in turns: group_norm_silu THREADS PAIRS [EDGE CHANNELS...]. One line of JSON a case.
#include "larmor/kernels/norms/group_norm_silu.h"

#include <functional>
#include <iostream>

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include "bench/in_turns.h"

namespace larmor {
namespace {

constexpr int64_t groups = 8, samples = 2;
constexpr double epsilon = 1e-6;

struct BenchCase {
  int64_t channels, edge;
  at::ScalarType type;
  bool channels_last;
};

using Norm = std::function<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&)>;

at::Tensor by_larmor(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  return group_norm_silu(input, groups, weight, bias, epsilon);
}

at::Tensor by_libtorch(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  return at::silu(at::group_norm(input, groups, weight, bias, epsilon));
}

struct BenchTensors {
  explicit BenchTensors(const BenchCase& of)
      : input(lay_out(of)),
        gradient(lay_out(of)),
        weight(at::rand({of.channels}).requires_grad_()),
        bias(at::rand({of.channels}).requires_grad_()) {
    input.requires_grad_();
  }

  static at::Tensor lay_out(const BenchCase& of) {
    const at::Tensor plain = at::randn({samples, of.channels, of.edge, of.edge, of.edge}).to(of.type);
    return of.channels_last ? plain.contiguous(at::MemoryFormat::ChannelsLast3d) : plain;
  }

  at::Tensor input, gradient, weight, bias;
};

double milliseconds(const Norm& norm, BenchTensors& with) {
  const double time =
      processor_milliseconds([&] { norm(with.input, with.weight, with.bias).backward(with.gradient); });
  for (at::Tensor* const tensor : {&with.input, &with.weight, &with.bias}) tensor->mutable_grad().reset();
  return time;
}

void measure_case(const BenchCase& of, int pairs) {
  BenchTensors with(of);
  Json row;
  row["channels"] = of.channels;
  row["edge"] = of.edge;
  row["type"] = c10::toString(of.type);
  row["layout"] = of.channels_last ? "NDHWC" : "NCDHW";
  measure_in_turns([&] { return milliseconds(by_larmor, with); },
                   [&] { return milliseconds(by_libtorch, with); }, pairs, row);
  std::cout << row.dump() << std::endl;
}

void measure_cases(const NormSizes& sizes, int pairs) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const bool last : {false, true}) measure_case({sizes.channels, sizes.edge, type, last}, pairs);
  }
}

}  // namespace
}  // namespace larmor

int main(int count, char** words) {
  return larmor::measure_norms(count, words, {{16, 48}, {32, 48}, {64, 24}, {128, 24}, {256, 12}},
                               larmor::measure_cases);
}
