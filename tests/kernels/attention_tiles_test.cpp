#include <algorithm>
#include <cstdint>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/device.h"
#include "larmor/kernels/attention/attention_cpu.h"
#include "larmor/kernels/draw/draw.h"

namespace larmor::testing {
namespace {

using at::Tensor;
using AttentionShape = attentions::Shape;

/// What the loops write for [samples, heads, tokens, width] side by side.
std::vector<Tensor> written_by(const attentions::Loops& loops, AttentionShape shape) {
  using namespace attentions;
  shape.parts = parts_of(shape);
  const auto drawn = [&](const char* name, int64_t tokens) {
    return draw_normal(4, name, {shape.samples, shape.heads, tokens, shape.width});
  };
  const auto steps = [&]<class Number>(Number* numbers, int64_t tokens) {
    return Tokens<Number>{numbers, shape.heads * tokens * shape.width, tokens * shape.width, shape.width};
  };
  const auto read = [&](const Tensor& tensor) {
    return steps(tensor.const_data_ptr<float>(), tensor.size(2));
  };
  const auto write = [&](const Tensor& tensor) {
    return steps(tensor.mutable_data_ptr<float>(), tensor.size(2));
  };
  const Tensor query = drawn("query", shape.queries), key = drawn("key", shape.keys),
               value = drawn("value", shape.keys), gradient = drawn("gradient", shape.queries);
  const Tensor output = at::empty_like(query), of_query = at::empty_like(query), of_key = at::empty_like(key),
               of_value = at::empty_like(key), sums = at::empty({shape.samples, shape.heads, shape.queries});
  const Tensor workspace = at::empty({std::max(forward_workspace(shape), backward_workspace(shape))});
  const Tensor parts = at::empty({shape.parts * adding_tasks(shape) * shape.padded_width() * tile_queries});
  auto* const memory = workspace.mutable_data_ptr<float>();  // libtorch's lies at a multiple of 64 bytes
  const Forward forward{shape,       read(query),   read(key),
                        read(value), write(output), sums.mutable_data_ptr<float>()};
  loops.forward(forward, 0, forward_tasks(shape), memory);
  const Backward backward{.shape = shape,
                          .query = read(query),
                          .key = read(key),
                          .value = read(value),
                          .output = read(output),
                          .gradient = read(gradient),
                          .sums = sums.const_data_ptr<float>(),
                          .of_query = write(of_query),
                          .of_key = write(of_key),
                          .of_value = write(of_value),
                          .parts = parts.mutable_data_ptr<float>()};
  loops.backward(backward, 0, backward_tasks(shape), memory);
  loops.add_parts(backward, 0, adding_tasks(shape));
  return {output, sums, of_query, of_key, of_value};
}

TEST(AttentionTiles, HaveTheSameBitsByAvx512AndByAvx2) {
  if (cpu_capability() != "AVX512") GTEST_SKIP() << "needs AVX-512";
  for (const int64_t width : {1, 7, 16, 24, 40, 48, 64, 80, 128}) {
    const AttentionShape shape{
        .samples = 2, .heads = 2, .queries = 130, .keys = 333, .width = width, .scale = 0.2};
    const auto wide = written_by(attentions::loops_by_avx512(), shape),
               narrow = written_by(attentions::loops_by_avx2(), shape);
    for (std::size_t i = 0; i < wide.size(); ++i) EXPECT_TRUE(wide[i].equal(narrow[i])) << i << " " << width;
  }
}

TEST(AttentionTiles, AreSharedByMoreTasksWhereHeadsAreFew) {
  const auto parts = [](int64_t heads, int64_t keys) {
    return attentions::parts_of(
        {.samples = 1, .heads = heads, .queries = 64, .keys = keys, .width = 16, .scale = 1});
  };
  EXPECT_EQ(parts(1, 4096), 4);
  EXPECT_EQ(parts(4, 4096), 2);
  EXPECT_EQ(parts(8, 4096), 1);
  EXPECT_EQ(parts(1, 256), 1);  // a part has four tiles at least
}

}  // namespace
}  // namespace larmor::testing
