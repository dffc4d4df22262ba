#include "larmor/kernels/join_channels.h"

#include <vector>

#include <ATen/ops/cat.h>

#include "larmor/kernels/norms/norm_tensors.h"
#include "larmor/kernels/operator.h"

namespace larmor {
namespace {

using at::Tensor;

/// Volumes with channels last are matrices: libtorch's GPUs join up to four axes at once, and copy the parts
/// of more number by number.
Tensor joined(const Tensor& first, const Tensor& second) {
  const bool are_matrices = first.scalar_type() == second.scalar_type() && norms::has_channels_last(first) &&
                            norms::has_channels_last(second);
  if (!are_matrices) return at::cat({first, second}, 1);
  const auto matrix = [](const Tensor& volume) { return volume.movedim(1, -1).flatten(0, -2); };
  std::vector<int64_t> sizes = first.movedim(1, -1).sizes().vec();
  sizes.back() = first.size(1) + second.size(1);
  return at::cat({matrix(first), matrix(second)}, 1).view(sizes).movedim(-1, 1);
}

struct JoinedChannels : GradientNode<JoinedChannels> {
  static Tensor forward(Context* context, const Tensor& first, const Tensor& second) {
    context->saved_data["channels"] = std::vector<int64_t>{first.size(1), second.size(1)};
    return joined(first, second);
  }

  static Variables backward(Context* context, const Variables& gradients) {
    const auto channels = context->saved_data["channels"].toIntVector();
    const auto part = [&](size_t which, int64_t before) {
      if (!context->needs_input_grad(which)) return Tensor();
      return norms::whole(gradients[0].narrow(1, before, channels[which]));
    };
    return {part(0, 0), part(1, channels[0])};
  }
};

}  // namespace

at::Tensor join_channels(const at::Tensor& first, const at::Tensor& second) {
  return JoinedChannels::apply(first, second);
}

}  // namespace larmor
