// The same training twice: by a plain libtorch loop on one device, and by ranks through Parallelism.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/comm/communicator.h"
#include "larmor/config/run_config.h"
#include "larmor/optim/parameter_groups.h"
#include "larmor/plan/plan.h"

namespace larmor::testing {

struct Training {
  OptimConfig optim;
  at::ScalarType type = at::kFloat;
  int64_t global_batch = 12;
  int64_t accumulation = 1;
  int64_t steps = 10;
  int64_t bucket_bytes = 1024;  // several buckets even for a small network
  /// In every n-th step one example uses weights that no other does; 0: never.
  int64_t rare_every = 0;
  Strategy strategy = Strategy::ddp;
  Recompute recompute = Recompute::none;
  bool exchange_every_micro_batch = false;
  bool offload = false;
  Compression compression = Compression::none;
  bool hands_over_gradients = false;  // that have been computed, in place of the loss
  std::vector<ParameterRule> rules = {};
};

OptimConfig sgd(double momentum = 0.9);
OptimConfig adam();
/// SGD without momentum or clipping: a step is the gradient times the rate.
OptimConfig plain_sgd();
/// Of small buckets, so that even a small network has several.
Plan small_plan(Strategy strategy = Strategy::ddp, Precision precision = Precision::fp32);
Plan plan_of(const Training& training);

/// All weights after the last step: forward, backward, clip, step, and nothing else.
at::Tensor train_plainly(const Training& training);

/// The weights of this rank after the same steps, each rank with its share. Collective.
at::Tensor train_as_rank(const Training& training, Communicator& communicator);

}  // namespace larmor::testing
