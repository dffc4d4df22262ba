#include "larmor/parallel/agreement.h"

#include <algorithm>
#include <unordered_set>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/parallel/buckets.h"

namespace larmor {

namespace {

std::string listing_of(const TensorList& tensors) {
  std::string all;
  for (const auto& [name, tensor] : tensors) {
    all += text(name, " ", c10::toString(tensor.scalar_type()), " [");
    for (const int64_t size : tensor.sizes()) all += text(" ", size);
    all += " ]\n";
  }
  return all;
}

/// Each parameter once, learning or not.
TensorList own_parameters(const torch::nn::Module& module) {
  TensorList parameters;
  std::unordered_set<const c10::TensorImpl*> seen;
  for (const auto& item : module.named_parameters()) {
    if (seen.insert(item.value().unsafeGetTensorImpl()).second)
      parameters.emplace_back(item.key(), item.value());
  }
  return parameters;
}

void check_same_network(const TensorList& tensors, Communicator& communicator) {
  const std::string own = listing_of(tensors), first = broadcast_bytes(communicator, own, 0);
  if (own == first) return;
  const std::vector<std::string> own_lines = split(own, '\n'), first_lines = split(first, '\n');
  size_t line = 0;
  while (line + 1 < std::min(own_lines.size(), first_lines.size()) && own_lines[line] == first_lines[line]) {
    line += 1;
  }
  fail(Exit::usage,
       text("rank ", communicator.rank(), " has another network than rank 0: '", own_lines[line],
            "' against '", first_lines[line], "'"),
       "start all ranks with the same program and the same config");
}

}  // namespace

TensorList learning_parameters(const torch::nn::Module& module) {
  TensorList learning = own_parameters(module);
  std::erase_if(learning, [](const auto& named) { return !named.second.requires_grad(); });
  return learning;
}

std::vector<ParameterTraits> learning_traits(const torch::nn::Module& module,
                                             const std::vector<ParameterRule>& rules,
                                             const OptimConfig& optim) {
  const TensorList all = own_parameters(module);
  std::vector<std::string> names;
  for (const auto& [name, parameter] : all) names.push_back(name);
  const std::vector<ParameterTraits> of_all = traits_of(names, rules, optim);
  std::vector<ParameterTraits> of_learning;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].second.requires_grad()) of_learning.push_back(of_all[i]);
  }
  return of_learning;
}

TensorList buffers_of(const torch::nn::Module& module) {
  TensorList buffers;
  for (const auto& item : module.named_buffers()) buffers.emplace_back(item.key(), item.value());
  return buffers;
}

void agree_on_network(const torch::nn::Module& module, int64_t bucket_bytes, Communicator& communicator) {
  TensorList tensors = own_parameters(module);
  for (auto& buffer : buffers_of(module)) tensors.push_back(std::move(buffer));
  check_same_network(tensors, communicator);
  adopt(tensors, bucket_bytes, communicator);
  require(!learning_parameters(module).empty(), Exit::usage, "the network has no parameter that learns");
}

void adopt(const TensorList& tensors, int64_t bucket_bytes, Communicator& communicator) {
  const at::NoGradGuard no_grad;
  std::vector<TensorSize> sizes;
  for (const auto& [name, tensor] : tensors) sizes.push_back({tensor.numel(), tensor.scalar_type()});
  for (const Bucket& bucket : cut_buckets(sizes, bucket_bytes)) {
    const auto part = [&](const at::Tensor& flat, size_t member) {
      const at::Tensor& tensor = tensors[bucket.members[member]].second;
      return flat.narrow(0, bucket.offsets[member], tensor.numel()).view(tensor.sizes());
    };
    const at::Tensor& any = tensors[bucket.members[0]].second;
    const at::Tensor flat = at::zeros({bucket.elements}, any.options().requires_grad(false));
    for (size_t i = 0; i < bucket.members.size(); ++i) part(flat, i).copy_(tensors[bucket.members[i]].second);
    communicator.broadcast(flat, 0).wait();
    for (size_t i = 0; i < bucket.members.size(); ++i) {
      tensors[bucket.members[i]].second.detach().copy_(part(flat, i));
    }
  }
}

}  // namespace larmor
