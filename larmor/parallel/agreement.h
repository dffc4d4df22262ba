// What ranks make sure of before they train together, and whenever one network has to be the same on all.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/comm/communicator.h"
#include "larmor/optim/parameter_groups.h"

namespace torch::nn {
class Module;
}

namespace larmor {

using TensorList = std::vector<std::pair<std::string, at::Tensor>>;

/// Parameters that learn. One that two blocks share comes once, under its first name.
TensorList learning_parameters(const torch::nn::Module& module);
/// How each of them learns. A rule may be about parameters that do not learn now. Throws as traits_of().
std::vector<ParameterTraits> learning_traits(const torch::nn::Module& module,
                                             const std::vector<ParameterRule>& rules,
                                             const OptimConfig& optim);
TensorList buffers_of(const torch::nn::Module& module);

/// Makes the network on all ranks that of rank 0. Throws Error (usage) with the first tensor whose name,
/// type or shape differs from rank 0's: such ranks would exchange nonsense, or hang; and when nothing in
/// the network learns. Collective.
void agree_on_network(const torch::nn::Module& module, int64_t bucket_bytes, Communicator& communicator);

/// Rank 0's values go to all, in pieces of about `bucket_bytes`. Collective.
void adopt(const TensorList& tensors, int64_t bucket_bytes, Communicator& communicator);

}  // namespace larmor
