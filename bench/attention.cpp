// Attention in training, forward and backward, by larmor::attention() and by libtorch's operator, in turns:
// attention THREADS PAIRS [SAMPLES HEADS QUERIES KEYS WIDTH], each in float32 and in bfloat16. One line of
// JSON a case.
#include "larmor/kernels/attention/attention.h"

#include <iostream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include "bench/in_turns.h"

namespace larmor {
namespace {

struct BenchCase {
  int64_t samples, heads, queries, keys, width;
  at::ScalarType type = at::kFloat;
};

/// Of the networks: the cascade's published stages and those for CPUs, each with itself and with a
/// radiograph; the diffusion U-Net's; an autoencoder's; a text.
const std::vector<BenchCase> usual{{1, 4, 4096, 4096, 16}, {1, 4, 4096, 256, 16}, {1, 6, 4096, 4096, 16},
                                   {1, 4, 4096, 4096, 64}, {4, 2, 64, 64, 32},    {2, 4, 512, 512, 16},
                                   {1, 1, 1728, 1728, 64}, {4, 12, 64, 64, 64},   {2, 4, 512, 128, 16},
                                   {1, 8, 1024, 1024, 32}, {1, 1, 512, 512, 128}, {4, 8, 24, 24, 16}};

struct BenchTensors {
  explicit BenchTensors(const BenchCase& of)
      : query(drawn(of, of.queries)),
        key(drawn(of, of.keys)),
        value(drawn(of, of.keys)),
        gradient(drawn(of, of.queries).detach()) {}

  /// As a layer leaves it.
  static at::Tensor drawn(const BenchCase& of, int64_t tokens) {
    return at::randn({of.samples, tokens, of.heads, of.width}).to(of.type).requires_grad_();
  }

  at::Tensor query, key, value, gradient;
};

template <class Attend>
double milliseconds(const Attend& attend, BenchTensors& with) {
  const double time = processor_milliseconds([&] {
    attend(with.query.transpose(1, 2), with.key.transpose(1, 2), with.value.transpose(1, 2))
        .transpose(1, 2)
        .backward(with.gradient);
  });
  for (at::Tensor* const tensor : {&with.query, &with.key, &with.value}) tensor->mutable_grad().reset();
  return time;
}

void measure_case(const BenchCase& of, int pairs) {
  BenchTensors with(of);
  Json row;
  row["samples"] = of.samples;
  row["heads"] = of.heads;
  row["queries"] = of.queries;
  row["keys"] = of.keys;
  row["width"] = of.width;
  row["type"] = c10::toString(of.type);
  const auto by_larmor = [](const auto& query, const auto& key, const auto& value) {
    return attention(query, key, value);
  };
  const auto by_libtorch = [](const auto& query, const auto& key, const auto& value) {
    return at::scaled_dot_product_attention(query, key, value);
  };
  measure_in_turns([&] { return milliseconds(by_larmor, with); },
                   [&] { return milliseconds(by_libtorch, with); }, pairs, row);
  // Two products forward, and five backward.
  const double operations =
      14.0 * static_cast<double>(of.samples * of.heads * of.queries * of.keys * of.width);
  row["larmor_gflops"] = operations / row["larmor_ms"].get<double>() / 1e6;
  row["libtorch_gflops"] = operations / row["libtorch_ms"].get<double>() / 1e6;
  std::cout << row.dump() << std::endl;
}

int run(int count, char** words) {
  if (count != 3 && count != 8) {
    std::cerr << words[0] << " takes THREADS PAIRS [SAMPLES HEADS QUERIES KEYS WIDTH]\n";
    return static_cast<int>(Exit::usage);
  }
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  at::set_num_threads(std::stoi(words[1]));
  std::vector<BenchCase> cases = usual;
  if (count == 8) {
    const auto number = [&](int at) { return std::stoll(words[at]); };
    cases = {{number(3), number(4), number(5), number(6), number(7)}};
  }
  for (BenchCase of : cases) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      of.type = type;
      measure_case(of, std::max(std::stoi(words[2]), 2));
    }
  }
  return 0;
}

}  // namespace
}  // namespace larmor

int main(int count, char** words) { return larmor::run(count, words); }
