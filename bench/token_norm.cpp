// Layer normalisation with and without a modulation behind it, forward and backward, by the operators of
// larmor/kernels/norms/token_norm.h and by libtorch's, in turns: token_norm THREADS PAIRS. One line of JSON a
// case.
#include "larmor/kernels/norms/token_norm.h"

#include <functional>
#include <iostream>
#include <string>

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include "bench/in_turns.h"

namespace larmor {
namespace {

constexpr double epsilon = 1e-5;

struct BenchCase {
  int64_t samples, tokens, channels;
  at::ScalarType type;
  bool modulated;
};

struct BenchTensors {
  explicit BenchTensors(const BenchCase& of)
      : input(at::randn({of.samples, of.tokens, of.channels}).to(of.type).requires_grad_()),
        gradient(at::randn({of.samples, of.tokens, of.channels}).to(of.type)),
        weight(at::rand({of.channels}).requires_grad_()),
        bias(at::rand({of.channels}).requires_grad_()),
        scale(at::rand({of.samples, of.channels}).to(of.type).requires_grad_()),
        shift(at::rand({of.samples, of.channels}).to(of.type).requires_grad_()) {}

  at::Tensor input, gradient, weight, bias, scale, shift;
};

using Norm = std::function<at::Tensor(const BenchTensors&)>;

at::Tensor norm_of_libtorch(const BenchTensors& with) {
  return at::layer_norm(with.input, with.weight.sizes(), with.weight, with.bias, epsilon);
}

double milliseconds(const Norm& norm, BenchTensors& with) {
  constexpr int times = 4;
  const double time = processor_milliseconds([&] {
    for (int i = 0; i < times; ++i) norm(with).backward(with.gradient);
  });
  for (at::Tensor* const tensor : {&with.input, &with.weight, &with.bias, &with.scale, &with.shift})
    tensor->mutable_grad().reset();
  return time / times;
}

void measure_case(const BenchCase& of, int pairs) {
  BenchTensors with(of);
  Json row;
  row["samples"] = of.samples;
  row["tokens"] = of.tokens;
  row["channels"] = of.channels;
  row["type"] = c10::toString(of.type);
  row["modulated"] = of.modulated;
  const Norm ours = [&](const BenchTensors& all) {
    return of.modulated
               ? normalise_and_modulate(all.input, all.weight, all.bias, all.scale, all.shift, epsilon)
               : normalise_tokens(all.input, all.weight, all.bias, epsilon);
  };
  const Norm theirs = [&](const BenchTensors& all) {
    const at::Tensor normed = norm_of_libtorch(all);
    return of.modulated ? (1 + all.scale.unsqueeze(1)) * normed + all.shift.unsqueeze(1) : normed;
  };
  measure_in_turns([&] { return milliseconds(ours, with); }, [&] { return milliseconds(theirs, with); },
                   pairs, row);
  std::cout << row.dump() << std::endl;
}

int run(int count, char** words) {
  if (count != 3) {
    std::cerr << words[0] << " takes THREADS PAIRS\n";
    return static_cast<int>(Exit::usage);
  }
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  at::set_num_threads(std::stoi(words[1]));
  // Of the published network of X-ray to CT and of that for CPUs, of ConvNeXt's first level, and of a text.
  const int64_t sizes[][3] = {{1, 4096, 64}, {1, 4096, 96}, {2, 512, 64},
                              {4, 3136, 40}, {4, 64, 256},  {2, 1024, 768}};
  for (const auto& [samples, tokens, channels] : sizes) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      for (const bool modulated : {true, false})
        measure_case({samples, tokens, channels, type, modulated}, std::max(std::stoi(words[2]), 2));
    }
  }
  return 0;
}

}  // namespace
}  // namespace larmor

int main(int count, char** words) { return larmor::run(count, words); }
