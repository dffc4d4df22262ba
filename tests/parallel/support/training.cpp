#include "tests/parallel/support/training.h"

#include <memory>

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn.h>
#include <torch/optim.h>

#include "larmor/device/run_block.h"
#include "larmor/parallel/agreement.h"
#include "larmor/parallel/parallelism.h"

#include "tests/parallel/support/small_net.h"

namespace larmor::testing {
namespace {

constexpr double learning_rate = 0.01;

bool uses_rare(const Training& training, int64_t step, int64_t example) {
  return training.rare_every > 0 && step % training.rare_every == 0 && example == 0;
}

/// Mean over the examples of `batch`; each a term of its own where it may take its own way.
at::Tensor loss_of(SmallNet& net, const Training& training, int64_t step, const at::Tensor& batch,
                   int64_t first_example) {
  if (training.rare_every == 0) return (net->forward(batch) - batch.flip(2)).square().mean();
  at::Tensor sum;
  for (int64_t row = 0; row < batch.size(0); ++row) {
    const at::Tensor volume = batch.narrow(0, row, 1);
    const at::Tensor made = net->forward(volume, uses_rare(training, step, first_example + row));
    const at::Tensor term = (made - volume.flip(2)).square().mean();
    sum = sum.defined() ? sum + term : term;
  }
  return sum / static_cast<double>(batch.size(0));
}

/// Undefined for parameters that the loss does not reach.
std::vector<at::Tensor> gradients_of(const at::Tensor& loss, const torch::nn::Module& net) {
  std::vector<at::Tensor> parameters;
  for (const auto& [name, parameter] : learning_parameters(net)) parameters.push_back(parameter);
  return torch::autograd::grad({loss}, parameters, /*grad_outputs=*/{}, /*retain_graph=*/false,
                               /*create_graph=*/false, /*allow_unused=*/true);
}

std::unique_ptr<torch::optim::Optimizer> plain_optimizer(const OptimConfig& config,
                                                         const ParameterTraits& traits,
                                                         std::vector<at::Tensor> parameters) {
  if (config.name == "sgd") {
    return std::make_unique<torch::optim::SGD>(std::move(parameters),
                                               torch::optim::SGDOptions(learning_rate * traits.rate)
                                                   .momentum(config.momentum)
                                                   .weight_decay(traits.weight_decay));
  }
  return std::make_unique<torch::optim::Adam>(std::move(parameters),
                                              torch::optim::AdamOptions(learning_rate * traits.rate)
                                                  .betas({config.betas[0], config.betas[1]})
                                                  .eps(config.eps)
                                                  .weight_decay(traits.weight_decay));
}

/// One for every parameter, so that each has its own rate and decay.
std::vector<std::unique_ptr<torch::optim::Optimizer>> plain_optimizers(const Training& training,
                                                                       SmallNet& net) {
  std::vector<std::unique_ptr<torch::optim::Optimizer>> optimizers;
  for (const auto& item : net->named_parameters()) {
    ParameterTraits traits{.rate = 1, .weight_decay = training.optim.weight_decay};
    for (const ParameterRule& rule : training.rules) {
      if (item.key().rfind(rule.prefix, 0) != 0) continue;
      traits = {.rate = rule.rate, .weight_decay = rule.weight_decay.value_or(traits.weight_decay)};
    }
    optimizers.push_back(plain_optimizer(training.optim, traits, {item.value()}));
  }
  return optimizers;
}

}  // namespace

OptimConfig sgd(double momentum) {
  OptimConfig config;
  config.name = "sgd";
  config.momentum = momentum;
  return config;
}

OptimConfig adam() {
  OptimConfig config;
  config.name = "adam";
  return config;
}

OptimConfig plain_sgd() {
  OptimConfig config = sgd(0);
  config.clip_norm = 0;
  return config;
}

Plan small_plan(Strategy strategy, Precision precision) {
  Plan plan;
  plan.strategy = strategy;
  plan.precision = precision;
  plan.bucket_bytes = 1024;
  return plan;
}

Plan plan_of(const Training& training) {
  Plan plan;
  plan.accumulation = training.accumulation;
  plan.bucket_bytes = training.bucket_bytes;
  plan.strategy = training.strategy;
  plan.recompute = training.recompute;
  plan.exchange_every_micro_batch = training.exchange_every_micro_batch;
  plan.offload_optimizer = training.offload;
  plan.compression = training.compression;
  plan.precision = training.type == at::kDouble ? Precision::fp64 : Precision::fp32;
  return plan;
}

at::Tensor train_plainly(const Training& training) {
  at::set_num_threads(1);
  SmallNet net(1, training.type);
  const auto optimizers = plain_optimizers(training, net);
  for (int64_t step = 0; step < training.steps; ++step) {
    for (const auto& optimizer : optimizers) optimizer->zero_grad();
    loss_of(net, training, step, make_batch(step, training.global_batch, training.type), 0).backward();
    if (training.optim.clip_norm > 0) {
      torch::nn::utils::clip_grad_norm_(net->parameters(), training.optim.clip_norm);
    }
    for (const auto& optimizer : optimizers) optimizer->step();
  }
  return flat_parameters(*net);
}

at::Tensor train_as_rank(const Training& training, Communicator& communicator) {
  // Work this small only gets slower when each of several ranks has several threads.
  at::set_num_threads(1);
  // Another seed on every rank: the first one's weights have to win.
  SmallNet net(1 + static_cast<uint64_t>(communicator.rank()), training.type);
  const auto parallel =
      make_parallelism(plan_of(training), training.optim, *net, communicator, net->blocks(), training.rules);
  const RecomputeScope recompute(training.recompute);
  const int64_t share = training.global_batch / communicator.size() / training.accumulation;
  for (int64_t step = 0; step < training.steps; ++step) {
    const at::Tensor batch = make_batch(step, training.global_batch, training.type);
    for (int64_t micro = 0; micro < training.accumulation; ++micro) {
      const int64_t first = (micro * communicator.size() + communicator.rank()) * share;
      const at::Tensor loss = loss_of(net, training, step, batch.narrow(0, first, share), first);
      const at::Tensor part = loss / static_cast<double>(training.accumulation);
      const bool last = micro + 1 == training.accumulation;
      if (training.hands_over_gradients) {
        parallel->receive(gradients_of(part, *net), last, {});
      } else {
        parallel->backward(part, last, {});
      }
    }
    parallel->finish();
    parallel->step(learning_rate);
  }
  const WholeNetwork whole(*parallel);
  return flat_parameters(*net);
}

}  // namespace larmor::testing
