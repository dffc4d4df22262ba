#include "larmor/parallel/parallelism.h"

#include "larmor/parallel/replicas.h"
#include "larmor/parallel/sharded.h"

namespace larmor {

std::unique_ptr<Parallelism> make_parallelism(const Plan& plan, const OptimConfig& optim,
                                              torch::nn::Module& module, Communicator& communicator,
                                              const std::vector<const torch::nn::Module*>& blocks) {
  if (is_sharded(plan.strategy)) {
    return std::make_unique<Sharded>(plan, optim, module, communicator, blocks);
  }
  return std::make_unique<Replicas>(plan, optim, module, communicator);
}

}  // namespace larmor
