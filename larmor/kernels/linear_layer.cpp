#include "larmor/kernels/linear_layer.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>

#include "larmor/base/ensure.h"
#include "larmor/device/cpu_ability.h"
#include "larmor/kernels/linear_gradients.h"
#include "larmor/kernels/operator.h"
#include "larmor/kernels/parallel_loop.h"
#include "larmor/kernels/vector_cpu.h"

// libtorch_cpu exports it, and the header that declares it is not in libtorch's package: result = beta ·
// result + alpha · left · right. Its matrices may be transposed views; it refuses CPUs without AVX-512.
namespace at::native {
TORCH_API void mkldnn_matmul(const Tensor& left, const Tensor& right, const Tensor& result, float beta,
                             float alpha);
}

namespace larmor {
namespace linear_layers {
namespace {

using at::Tensor;
using Optional = std::optional<Tensor>;
using Product = Operator<"product", Tensor(const Tensor& left, const Tensor& right, const Optional& bias)>;

constexpr double fewest_multiplications = 1 << 20;
// oneDNN cuts a long sum into as many parts as there are threads, where the result is small. It leaves one of
// so many rows whole.
constexpr int64_t longest_sum = 512;
// From so many pieces on, threads share pieces and not the product of each, where the result has so few
// numbers. By sizes alone.
constexpr int64_t fewest_pieces_apart = 4, largest_result_apart = 1 << 14;
// A product of so many more rows than columns is made with the narrower matrix in front: up to twice as fast.
constexpr int64_t rows_of_tall = 8;

bool is_transposed(const Tensor& matrix) { return !matrix.is_contiguous() && matrix.t().is_contiguous(); }

/// Pieces of a long sum: the products of left [rows, depth] and right [depth, columns] for so much of the
/// depth each.
struct SumPieces {
  SumPieces(const Tensor& left, const Tensor& right) {
    const int64_t depth = left.size(1), piece = is_transposed(left) ? longest_sum : depth;
    for (int64_t first = 0; first < depth; first += piece) {
      const int64_t length = std::min(piece, depth - first);
      lefts.push_back(left.narrow(1, first, length));
      rights.push_back(right.narrow(0, first, length));
    }
  }
  int64_t count() const { return static_cast<int64_t>(lefts.size()); }
  void multiply(int64_t which, const Tensor& result, bool adds) const {
    const auto i = static_cast<size_t>(which);
    at::native::mkldnn_matmul(lefts[i], rights[i], result, adds ? 1 : 0, 1);
  }

  std::vector<Tensor> lefts, rights;
};

/// Each piece by one thread, and the pieces added in order: where the result is small, oneDNN's threads wait
/// for each other longer than they multiply.
void add_pieces_apart(const SumPieces& pieces, const Tensor& result) {
  const Tensor apart = at::empty({pieces.count(), result.size(0), result.size(1)}, result.options());
  std::vector<Tensor> each;
  for (int64_t i = 0; i < pieces.count(); ++i) each.push_back(apart.select(0, i));
  parallel_loop(0, pieces.count(), /*grain=*/1, [&](int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) pieces.multiply(i, each[static_cast<size_t>(i)], /*adds=*/false);
  });
  const int64_t numbers = result.numel();
  const float* const from = apart.const_data_ptr<float>();
  float* const to = result.mutable_data_ptr<float>();
  std::copy_n(from, numbers, to);
  for (int64_t i = 1; i < pieces.count(); ++i) {
    const float* const more = from + i * numbers;
    for (int64_t at = 0; at < numbers; ++at) to[at] += more[at];
  }
}

/// left [rows, depth] and right [depth, columns], each as it lies or transposed.
Tensor product_on_cpu(const Tensor& left, const Tensor& right, const Optional& bias) {
  ensure(left.dim() == 2 && right.dim() == 2 && left.size(1) == right.size(0));
  const Tensor result = at::empty({left.size(0), right.size(1)}, left.options());
  const SumPieces pieces(left, right);
  if (!bias && pieces.count() >= fewest_pieces_apart && result.numel() <= largest_result_apart) {
    add_pieces_apart(pieces, result);
    return result;
  }
  if (bias) result.copy_(bias->expand_as(result));
  for (int64_t i = 0; i < pieces.count(); ++i) pieces.multiply(i, result, bias.has_value() || i > 0);
  return result;
}

Tensor product_on_meta(const Tensor& left, const Tensor& right, const Optional& /*bias*/) {
  return at::empty({left.size(0), right.size(1)}, left.options());
}

const Product::Registration registered("(Tensor left, Tensor right, Tensor? bias) -> Tensor",
                                       {.cpu = product_on_cpu, .meta = product_on_meta});

Tensor product(const Tensor& left, const Tensor& right, const Optional& bias = std::nullopt) {
  return Product::call_below_autograd(left, right, bias);
}

/// [rows, numbers], side by side.
Tensor as_rows(const Tensor& tensor) { return tensor.reshape({-1, tensor.size(-1)}).contiguous(); }

Tensor gradient_of_weight(const Tensor& slopes, const Tensor& rows) {
  const int64_t out = slopes.size(1), in = rows.size(1);
  if (out <= in || rows.size(0) < rows_of_tall * out) return product(slopes.t(), rows);
  return product(rows.t(), slopes).t().contiguous();
}

}  // namespace
}  // namespace linear_layers

LinearGradients linear_gradients(const at::Tensor& slopes, const at::Tensor& rows, const at::Tensor& weight,
                                 const std::array<bool, 3>& wanted) {
  using linear_layers::product;
  return {.of_input = wanted[0] ? product(slopes, weight) : at::Tensor(),
          .of_weight = wanted[1] ? linear_layers::gradient_of_weight(slopes, rows) : at::Tensor(),
          .of_bias = wanted[2] ? slopes.sum(0) : at::Tensor()};
}

namespace linear_layers {
namespace {

struct DifferentiableLinear : GradientNode<DifferentiableLinear> {
  static Tensor forward(Context* context, const Tensor& input, const Tensor& weight, const Optional& bias) {
    context->save_for_backward({input, weight});
    context->saved_data["has_bias"] = bias.has_value();
    std::vector<int64_t> sizes = input.sizes().vec();
    sizes.back() = weight.size(0);
    return product(as_rows(input), weight.contiguous().t(), bias).view(sizes);
  }

  static Variables backward(Context* context, const Variables& gradients) {
    const Variables saved = context->get_saved_variables();
    const Tensor &input = saved[0], &weight = saved[1], &gradient = gradients[0];
    const bool has_bias = context->saved_data["has_bias"].toBool() && context->needs_input_grad(2);
    if (at::GradMode::is_enabled()) return differentiably(input, weight, gradient, has_bias);
    const LinearGradients found =
        linear_gradients(as_rows(gradient), as_rows(input), weight.contiguous(),
                         {context->needs_input_grad(0), context->needs_input_grad(1), has_bias});
    return {found.of_input.defined() ? found.of_input.view(input.sizes()) : Tensor(), found.of_weight,
            found.of_bias};
  }

  static Variables differentiably(const Tensor& input, const Tensor& weight, const Tensor& gradient,
                                  bool has_bias) {
    const Tensor slopes = gradient.reshape({-1, gradient.size(-1)});
    return {at::matmul(gradient, weight), at::matmul(slopes.t(), input.reshape({-1, input.size(-1)})),
            has_bias ? slopes.sum(0) : Tensor()};
  }
};

bool is_float32(const Tensor& tensor) {
  return tensor.is_cpu() && tensor.layout() == at::kStrided && tensor.scalar_type() == at::kFloat;
}

}  // namespace
}  // namespace linear_layers

bool is_layer_by_one_dnn(const at::Tensor& input, const at::Tensor& weight) {
  return linear_layers::is_float32(input) && linear_layers::is_float32(weight) &&
         vector_cpu() == VectorCpu::avx512 && at::globalContext().userEnabledMkldnn() &&
         one_dnn_computes(at::kBFloat16) &&  // what mkldnn_matmul() asks for in every type
         !at::autocast::is_autocast_enabled(at::kCPU) &&
         static_cast<double>(input.numel()) * static_cast<double>(weight.size(0)) >=
             linear_layers::fewest_multiplications;
}

at::Tensor linear_layer(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  if (!is_layer_by_one_dnn(input, weight)) return at::linear(input, weight, bias);
  ensure(weight.dim() == 2 && input.dim() >= 1 && input.size(-1) == weight.size(1));
  return linear_layers::DifferentiableLinear::apply(input, weight, if_defined(bias));
}

}  // namespace larmor
