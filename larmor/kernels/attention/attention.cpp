#include "larmor/kernels/attention/attention.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include "larmor/base/ensure.h"
#include "larmor/kernels/attention/attention_cpu.h"
#include "larmor/kernels/attention/attention_plain.h"
#include "larmor/kernels/operator.h"
#include "larmor/kernels/parallel_loop.h"
#include "larmor/kernels/vector_cpu.h"

namespace larmor {
namespace attentions {
namespace {

using at::Tensor;
using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using ForwardOperator =
    Operator<"attention", Two(const Tensor& query, const Tensor& key, const Tensor& value)>;
using BackwardOperator =
    Operator<"attention_backward", Three(const Tensor& gradient, const Tensor& query, const Tensor& key,
                                         const Tensor& value, const Tensor& output, const Tensor& sums)>;

constexpr int64_t widest_head = 128;
// Fewer are libtorch's: measured, what tiles cost beside their products is more than they gain.
constexpr int64_t fewest_tokens = 8, fewest_scores = 512;

bool has_loops() { return vector_cpu() != VectorCpu::other; }

Loops loops() {
  ensure(has_loops());
  return vector_cpu() == VectorCpu::avx512 ? loops_by_avx512() : loops_by_avx2();
}

bool are_of_heads(const Tensor& query, const Tensor& key, const Tensor& value) {
  return query.dim() == 4 && key.dim() == 4 && key.sizes() == value.sizes() && query.size(0) == key.size(0) &&
         query.size(1) == key.size(1) && query.size(3) == key.size(3);
}

Shape shape_of(const Tensor& query, const Tensor& key, const Tensor& value) {
  ensure(are_of_heads(query, key, value));
  Shape shape{.samples = query.size(0),
              .heads = query.size(1),
              .queries = query.size(2),
              .keys = key.size(2),
              .width = query.size(3),
              .scale = 1 / std::sqrt(static_cast<double>(query.size(3)))};
  shape.parts = parts_of(shape);
  return shape;
}

/// In float32, the numbers of a token side by side.
Tensor readable(const Tensor& tokens) {
  const Tensor wide = tokens.to(at::kFloat);
  return wide.stride(3) == 1 ? wide : wide.contiguous();
}

/// The heads of a token side by side, as the layer behind reads them.
Tensor empty_like_layers(const Tensor& tokens) {
  return at::empty({tokens.size(0), tokens.size(2), tokens.size(1), tokens.size(3)}, tokens.options())
      .transpose(1, 2);
}

Tensor empty_sums(const Tensor& query) {
  return at::empty({query.size(0), query.size(1), query.size(2)}, query.options().dtype(at::kFloat));
}

Tensor empty_parts(const Shape& shape, const Tensor& query) {
  return at::empty(
      {shape.parts, shape.samples * shape.heads, shape.query_tiles(), shape.padded_width() * tile_queries},
      query.options().dtype(at::kFloat));
}

Tokens<const float> read(const Tensor& tokens) {
  return {tokens.const_data_ptr<float>(), tokens.stride(0), tokens.stride(1), tokens.stride(2)};
}

Tokens<float> written(const Tensor& tokens) {
  return {tokens.mutable_data_ptr<float>(), tokens.stride(0), tokens.stride(1), tokens.stride(2)};
}

Two on_cpu(const Tensor& given_query, const Tensor& given_key, const Tensor& given_value) {
  const Shape shape = shape_of(given_query, given_key, given_value);
  const Tensor query = readable(given_query), key = readable(given_key), value = readable(given_value);
  const Tensor output = empty_like_layers(query), sums = empty_sums(query);
  const Forward with{.shape = shape,
                     .query = read(query),
                     .key = read(key),
                     .value = read(value),
                     .output = written(output),
                     .sums = sums.mutable_data_ptr<float>()};
  const auto run = loops().forward;
  parallel_loop_with_memory(
      forward_tasks(shape), forward_workspace(shape),
      [&](int64_t first, int64_t end, float* workspace) { run(with, first, end, workspace); });
  return {output.to(given_query.scalar_type()), sums};
}

Three backward_on_cpu(const Tensor& given_gradient, const Tensor& given_query, const Tensor& given_key,
                      const Tensor& given_value, const Tensor& given_output, const Tensor& sums) {
  const Shape shape = shape_of(given_query, given_key, given_value);
  const Tensor query = readable(given_query), key = readable(given_key), value = readable(given_value),
               gradient = readable(given_gradient), output = readable(given_output),
               parts = empty_parts(shape, query);
  const Tensor of_query = empty_like_layers(query), of_key = empty_like_layers(key),
               of_value = empty_like_layers(value);
  const Backward with{.shape = shape,
                      .query = read(query),
                      .key = read(key),
                      .value = read(value),
                      .output = read(output),
                      .gradient = read(gradient),
                      .sums = sums.const_data_ptr<float>(),
                      .of_query = written(of_query),
                      .of_key = written(of_key),
                      .of_value = written(of_value),
                      .parts = parts.mutable_data_ptr<float>()};
  const Loops by = loops();
  parallel_loop_with_memory(
      backward_tasks(shape), backward_workspace(shape),
      [&](int64_t first, int64_t end, float* workspace) { by.backward(with, first, end, workspace); });
  parallel_loop(0, adding_tasks(shape), /*grain=*/4,
                [&](int64_t first, int64_t end) { by.add_parts(with, first, end); });
  const at::ScalarType type = given_query.scalar_type();
  return {of_query.to(type), of_key.to(type), of_value.to(type)};
}

Two on_meta(const Tensor& query, const Tensor& key, const Tensor& value) {
  shape_of(query, key, value);
  return {empty_like_layers(query), empty_sums(query)};
}

Three backward_on_meta(const Tensor& /*gradient*/, const Tensor& query, const Tensor& key,
                       const Tensor& value, const Tensor& /*output*/, const Tensor& /*sums*/) {
  const Tensor parts = empty_parts(shape_of(query, key, value), query);
  return {empty_like_layers(query), empty_like_layers(key), empty_like_layers(value)};
}

const ForwardOperator::Registration forward_operator(
    "(Tensor query, Tensor key, Tensor value) -> (Tensor, Tensor)", {.cpu = on_cpu, .meta = on_meta});
const BackwardOperator::Registration backward_operator(
    "(Tensor gradient, Tensor query, Tensor key, Tensor value, Tensor output, Tensor sums)"
    " -> (Tensor, Tensor, Tensor)",
    {.cpu = backward_on_cpu, .meta = backward_on_meta});

struct DifferentiableAttention : GradientNode<DifferentiableAttention> {
  static Tensor forward(Context* context, const Tensor& query, const Tensor& key, const Tensor& value) {
    const auto [output, sums] = ForwardOperator::call_below_autograd(query, key, value);
    context->save_for_backward({query, key, value, output, sums});
    return output;
  }

  static Variables backward(Context* context, const Variables& gradients) {
    const Variables saved = context->get_saved_variables();
    const auto [of_query, of_key, of_value] =
        at::GradMode::is_enabled() ? plain_attention_backward(gradients[0], saved[0], saved[1], saved[2])
                                   : BackwardOperator::call_below_autograd(gradients[0], saved[0], saved[1],
                                                                           saved[2], saved[3], saved[4]);
    return {of_query, of_key, of_value};
  }
};

bool is_worth_tiles(const Tensor& query, const Tensor& key) {
  return query.numel() > 0 && query.size(3) <= widest_head && query.size(2) >= fewest_tokens &&
         key.size(2) >= fewest_tokens && query.size(2) * key.size(2) >= fewest_scores;
}

bool is_dense_on_cpu(const Tensor& tensor, at::ScalarType type) {
  return tensor.is_cpu() && tensor.layout() == at::kStrided && tensor.scalar_type() == type;
}

/// Of all three: float32, or bfloat16, as layers under autocast leave them. Under autocast float32 is
/// libtorch's, which rounds it to the lower type.
bool are_for_loops(const Tensor& query, const Tensor& key, const Tensor& value) {
  const at::ScalarType type = query.scalar_type();
  if (type != at::kBFloat16 && (type != at::kFloat || at::autocast::is_autocast_enabled(at::kCPU)))
    return false;
  return is_dense_on_cpu(query, type) && is_dense_on_cpu(key, type) && is_dense_on_cpu(value, type);
}

}  // namespace
}  // namespace attentions

bool is_attention_by_tiles(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  return attentions::has_loops() && attentions::are_for_loops(query, key, value) &&
         attentions::are_of_heads(query, key, value) && attentions::is_worth_tiles(query, key);
}

at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const std::optional<at::Tensor>& mask) {
  if (mask || !is_attention_by_tiles(query, key, value))
    return at::scaled_dot_product_attention(query, key, value, mask);
  return attentions::DifferentiableAttention::apply(query, key, value);
}

}  // namespace larmor
