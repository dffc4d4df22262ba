#include "larmor/parallel/parallelism.h"

#include "larmor/parallel/replicas.h"

namespace larmor {

std::unique_ptr<Parallelism> make_parallelism(const Plan& plan, const OptimConfig& optim,
                                              torch::nn::Module& module, Communicator& communicator) {
  return std::make_unique<Replicas>(plan, optim, module, communicator);
}

}  // namespace larmor
