#include "larmor/parallel/parallelism.h"

#include <ATen/core/Tensor.h>

#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/parallel/agreement.h"
#include "larmor/parallel/replicas.h"
#include "larmor/parallel/sharded.h"

namespace larmor {

Reduced Parallelism::finish() { return read_reduced(reduce().to(at::kCPU)); }

std::unique_ptr<Parallelism> make_parallelism(const Plan& plan, const OptimConfig& optim,
                                              torch::nn::Module& module, Communicator& communicator,
                                              const std::vector<const torch::nn::Module*>& blocks,
                                              const std::vector<ParameterRule>& rules) {
  const std::vector<ParameterTraits> traits = learning_traits(module, rules, optim);
  if (!rules.empty() && communicator.is_first())
    log::info(text("Parameters learn in groups: ", describe(groups_of(traits))));
  if (is_sharded(plan.strategy))
    return std::make_unique<Sharded>(plan, optim, traits, module, communicator, blocks);
  return std::make_unique<Replicas>(plan, optim, traits, module, communicator);
}

}  // namespace larmor
