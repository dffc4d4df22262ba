#include "larmor/kernels/draw/philox.h"

#include <algorithm>
#include <span>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>

#include "larmor/base/ensure.h"
#include "larmor/base/seed.h"
#include "larmor/kernels/draw/philox_cuda.h"
#include "larmor/kernels/norms/norm_tensors.h"
#include "larmor/kernels/operator.h"
#include "larmor/kernels/parallel_loop.h"

namespace larmor {
namespace {

using at::Tensor;

// The dispatcher has no unsigned integers: keys and thresholds keep their bits.
using Sizes = at::IntArrayRef;
using Normal = Operator<"philox_normal", Tensor(const Tensor& streams, int64_t key, Sizes sizes)>;
using Uniform = Operator<"philox_uniform", Tensor(const Tensor& streams, int64_t key, Sizes sizes)>;
using Kept =
    Operator<"philox_kept", Tensor(const Tensor& streams, int64_t key, Sizes sizes, int64_t threshold)>;
using Integers = Operator<"philox_integers", Tensor(const Tensor& streams, int64_t key, int64_t limit)>;
using Dropout = Operator<"philox_dropout", Tensor(const Tensor& input, const Tensor& streams, int64_t key,
                                                  int64_t threshold, double scale)>;

Tensor empty_rows(const Tensor& streams, Sizes sizes, at::ScalarType type) {
  ensure(streams.dim() == 1 && streams.scalar_type() == at::kLong && !sizes.empty() &&
         sizes[0] == streams.size(0));
  return at::empty(sizes, streams.options().dtype(type));
}

/// Calls fill(key of a row, its elements) for each row, on as many threads as libtorch has.
template <class Number, class Fill>
Tensor fill_rows(Tensor out, const Tensor& streams, int64_t key, const Fill& fill) {
  const int64_t rows = streams.size(0);
  if (out.numel() == 0) return out;
  const auto size = static_cast<size_t>(out.numel() / rows);
  auto* const numbers = out.mutable_data_ptr<Number>();
  const Tensor whole = streams.contiguous();
  const auto* const stream = whole.const_data_ptr<int64_t>();
  constexpr size_t numbers_of_a_thread = 1 << 13;
  const auto grain = static_cast<int64_t>(std::max<size_t>(numbers_of_a_thread / size, 1));
  parallel_loop(0, rows, grain, [&](int64_t first, int64_t end) {
    for (int64_t row = first; row < end; ++row) {
      const Key of_row{.key = static_cast<uint64_t>(key), .stream = static_cast<uint64_t>(stream[row])};
      fill(of_row, std::span<Number>(numbers + static_cast<size_t>(row) * size, size));
    }
  });
  return out;
}

Tensor normal_on_cpu(const Tensor& streams, int64_t key, Sizes sizes) {
  return fill_rows<float>(empty_rows(streams, sizes, at::kFloat), streams, key, fill_normal);
}

Tensor uniform_on_cpu(const Tensor& streams, int64_t key, Sizes sizes) {
  return fill_rows<float>(empty_rows(streams, sizes, at::kFloat), streams, key, fill_uniform);
}

Tensor kept_on_cpu(const Tensor& streams, int64_t key, Sizes sizes, int64_t threshold) {
  return fill_rows<bool>(empty_rows(streams, sizes, at::kBool), streams, key,
                         [threshold](Key of_row, std::span<bool> out) {
                           fill_kept(of_row, static_cast<uint64_t>(threshold), out);
                         });
}

Tensor integers_on_cpu(const Tensor& streams, int64_t key, int64_t limit) {
  return fill_rows<int64_t>(empty_rows(streams, streams.sizes(), at::kLong), streams, key,
                            [limit](Key of_row, std::span<int64_t> out) {
                              out[0] =
                                  static_cast<int64_t>(integer_below(of_row, static_cast<uint64_t>(limit)));
                            });
}

Tensor dropout_on_cpu(const Tensor& input, const Tensor& streams, int64_t key, int64_t threshold,
                      double scale) {
  Tensor kept = kept_on_cpu(streams, key, input.sizes(), threshold);
  return at::mul(input, scale).masked_fill_(kept.logical_not_(), 0);
}

template <PhiloxNumbers numbers>
Tensor fill_on_cuda(const Tensor& streams, int64_t key, Sizes sizes) {
  const Tensor out = empty_rows(streams, sizes, at::kFloat);
  fill_on_gpu(numbers, out, streams.contiguous(), static_cast<uint64_t>(key), /*threshold=*/0);
  return out;
}

Tensor kept_on_cuda(const Tensor& streams, int64_t key, Sizes sizes, int64_t threshold) {
  const Tensor out = empty_rows(streams, sizes, at::kBool);
  fill_on_gpu(PhiloxNumbers::kept, out, streams.contiguous(), static_cast<uint64_t>(key),
              static_cast<uint64_t>(threshold));
  return out;
}

Tensor integers_on_cuda(const Tensor& streams, int64_t key, int64_t limit) {
  const Tensor out = empty_rows(streams, streams.sizes(), at::kLong);
  fill_integers_on_gpu(out, streams.contiguous(), static_cast<uint64_t>(key), limit);
  return out;
}

Tensor dropout_on_cuda(const Tensor& input, const Tensor& streams, int64_t key, int64_t threshold,
                       double scale) {
  ensure(input.size(0) == streams.size(0));
  const bool has_voxels = input.dim() > 2;
  const Tensor whole = has_voxels ? norms::whole(input) : input.contiguous(), out = at::empty_like(whole);
  const int64_t channels = has_voxels && norms::has_channels_last(whole) ? whole.size(1) : 1;
  drop_out_on_gpu(out, whole, streams.contiguous(), static_cast<uint64_t>(key),
                  static_cast<uint64_t>(threshold), scale, channels);
  return input.is_non_overlapping_and_dense() ? norms::laid_out_as(out, input) : out;
}

Tensor floats_on_meta(const Tensor& streams, int64_t /*key*/, Sizes sizes) {
  return empty_rows(streams, sizes, at::kFloat);
}

Tensor kept_on_meta(const Tensor& streams, int64_t /*key*/, Sizes sizes, int64_t /*threshold*/) {
  return empty_rows(streams, sizes, at::kBool);
}

Tensor integers_on_meta(const Tensor& streams, int64_t /*key*/, int64_t /*limit*/) {
  return empty_rows(streams, streams.sizes(), at::kLong);
}

Tensor dropout_on_meta(const Tensor& input, const Tensor& streams, int64_t /*key*/, int64_t /*threshold*/,
                       double /*scale*/) {
  ensure(input.size(0) == streams.size(0));
  return at::empty_like(input);
}

/// Dropout is linear and its own adjoint: backward is the same operator.
struct DifferentiableDropout : GradientNode<DifferentiableDropout> {
  static Tensor forward(Context* context, const Tensor& input, const Tensor& streams, int64_t key,
                        int64_t threshold, double scale) {
    context->save_for_backward({streams});
    context->saved_data["key"] = key;
    context->saved_data["threshold"] = threshold;
    context->saved_data["scale"] = scale;
    return Dropout::call_below_autograd(input, streams, key, threshold, scale);
  }

  static Variables backward(Context* context, const Variables& gradients) {
    const Tensor of_input =
        Dropout::call(gradients[0], context->get_saved_variables()[0], context->saved_data["key"].toInt(),
                      context->saved_data["threshold"].toInt(), context->saved_data["scale"].toDouble());
    return {of_input, Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

Tensor dropout_with_gradient(const Tensor& input, const Tensor& streams, int64_t key, int64_t threshold,
                             double scale) {
  return DifferentiableDropout::apply(input, streams, key, threshold, scale);
}

const Normal::Registration normal("(Tensor streams, int key, int[] sizes) -> Tensor",
                                  {.cpu = normal_on_cpu,
                                   .cuda = fill_on_cuda<PhiloxNumbers::normal>,
                                   .meta = floats_on_meta});
const Uniform::Registration uniform("(Tensor streams, int key, int[] sizes) -> Tensor",
                                    {.cpu = uniform_on_cpu,
                                     .cuda = fill_on_cuda<PhiloxNumbers::uniform>,
                                     .meta = floats_on_meta});
const Kept::Registration kept("(Tensor streams, int key, int[] sizes, int threshold) -> Tensor",
                              {.cpu = kept_on_cpu, .cuda = kept_on_cuda, .meta = kept_on_meta});
const Integers::Registration integers("(Tensor streams, int key, int limit) -> Tensor",
                                      {.cpu = integers_on_cpu,
                                       .cuda = integers_on_cuda,
                                       .meta = integers_on_meta});
const Dropout::Registration dropout(
    "(Tensor input, Tensor streams, int key, int threshold, float scale) -> Tensor",
    {.cpu = dropout_on_cpu,
     .cuda = dropout_on_cuda,
     .meta = dropout_on_meta,
     .autograd = dropout_with_gradient});

int64_t same_bits(uint64_t number) { return static_cast<int64_t>(number); }

}  // namespace

at::Tensor philox_normal(const at::Tensor& streams, uint64_t key, at::IntArrayRef sizes) {
  return Normal::call(streams, same_bits(key), sizes);
}

at::Tensor philox_uniform(const at::Tensor& streams, uint64_t key, at::IntArrayRef sizes) {
  return Uniform::call(streams, same_bits(key), sizes);
}

at::Tensor philox_kept(const at::Tensor& streams, uint64_t key, at::IntArrayRef sizes, uint64_t threshold) {
  return Kept::call(streams, same_bits(key), sizes, same_bits(threshold));
}

at::Tensor philox_integers(const at::Tensor& streams, uint64_t key, int64_t limit) {
  ensure(limit > 0);
  return Integers::call(streams, same_bits(key), limit);
}

at::Tensor philox_dropout(const at::Tensor& input, const at::Tensor& streams, uint64_t key,
                          uint64_t threshold, double scale) {
  return Dropout::call(input, streams, same_bits(key), same_bits(threshold), scale);
}

}  // namespace larmor
