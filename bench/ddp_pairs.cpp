// Our data parallelism beside libtorch's c10d::Reducer, in turn, in the same processes: the same network, the
// same optimizer, Gloo in both. Every process is a rank (RANK, WORLD_SIZE, MASTER_ADDR, …); side_by_side.py
// starts them. Rank 0 prints one JSON line with the milliseconds of each block and mode.
//
//   ddp_pairs STORE_FILE CHANNELS EDGE BATCH BLOCKS STEPS

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>

#include <ATen/Parallel.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/nn.h>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/nn/networks/autoencoder_kl/autoencoder_kl.h"
#include "larmor/optim/optimizer.h"
#include "larmor/parallel/parallelism.h"

#include "tests/parallel/support/torch_replicas.h"

namespace larmor {
namespace {

struct PairArguments {
  std::string store;
  std::vector<int64_t> channels;
  int64_t edge = 48, batch = 2;
  int blocks = 8, steps = 1;
};

PairArguments read_arguments(const std::vector<std::string>& words) {
  require(words.size() == 6, Exit::usage, "ddp_pairs takes STORE_FILE CHANNELS EDGE BATCH BLOCKS STEPS", "");
  PairArguments arguments{.store = words[0],
                          .channels = {},
                          .edge = std::stoll(words[2]),
                          .batch = std::stoll(words[3]),
                          .blocks = std::stoi(words[4]),
                          .steps = std::stoi(words[5])};
  for (const auto& channel : split(words[1], ',')) arguments.channels.push_back(std::stoll(channel));
  return arguments;
}

OptimConfig fused_adam() {
  OptimConfig optim;
  optim.name = "adam";
  optim.learning_rate = 1e-4;
  optim.weight_decay = 0;
  optim.clip_norm = 0;
  return optim;
}

/// A network and its batches; every mode has its own.
class Subject {
 public:
  Subject(const PairArguments& arguments, int rank) {
    torch::manual_seed(0);
    nn::AutoencoderKlOptions options;
    options.channels = arguments.channels;
    options.num_res_blocks = {1};
    options.attention_levels.assign(arguments.channels.size(), false);
    options.norm_num_groups = 8;
    options.latent_channels = 4;
    network = nn::AutoencoderKl(options);
    torch::manual_seed(100 + rank);
    const int64_t edge = arguments.edge, latent_edge = edge >> (arguments.channels.size() - 1);
    for (int i = 0; i < 4; ++i) {
      images_.push_back(torch::rand({arguments.batch, 1, edge, edge, edge}));
      noise_.push_back(torch::randn({arguments.batch, 4, latent_edge, latent_edge, latent_edge}));
    }
  }

  at::Tensor loss() {
    const size_t turn = turns_++ % images_.size();
    const auto output = network->forward(images_[turn], noise_[turn]);
    const at::Tensor variance = output.sigma.square();
    const at::Tensor divergence = 0.5 * (output.mean.square() + variance - variance.log() - 1).sum();
    return (output.reconstruction - images_[turn]).abs().mean() + 1e-7 * divergence;
  }

  nn::AutoencoderKl network{nullptr};

 private:
  std::vector<at::Tensor> images_, noise_;
  size_t turns_ = 0;
};

class Ours {
 public:
  Ours(const PairArguments& arguments, Communicator& communicator)
      : subject_(arguments, communicator.rank()) {
    Plan plan;
    plan.strategy = Strategy::ddp;
    parallel_ = make_parallelism(plan, fused_adam(), *subject_.network, communicator);
  }
  void step() {
    parallel_->backward(subject_.loss(), /*last=*/true, {});
    parallel_->finish();
    parallel_->step(1e-4);
  }

 private:
  Subject subject_;
  std::unique_ptr<Parallelism> parallel_;
};

class Theirs {
 public:
  Theirs(const PairArguments& arguments, const c10::intrusive_ptr<c10d::Store>& store, bool in_buckets,
         Communicator& communicator)
      : subject_(arguments, communicator.rank()),
        replicas_(*subject_.network, store, communicator.rank(), communicator.size(),
                  {.gradients_in_buckets = in_buckets}),
        optimizer_(make_optimizer(fused_adam(), subject_.network->parameters())) {}
  void step() {
    for (auto& parameter : subject_.network->parameters()) parameter.mutable_grad() = at::Tensor();
    replicas_.begin_step();
    replicas_.backward(subject_.loss());
    const torch::NoGradGuard no_grad;
    optimizer_->step(1e-4);
  }

 private:
  Subject subject_;
  testing::TorchReplicas replicas_;
  std::unique_ptr<Optimizer> optimizer_;
};

struct Mode {
  std::string name;
  std::function<void()> step;
};

/// Milliseconds a step, of the slowest rank.
double time_block(const Mode& mode, int steps, Communicator& communicator) {
  communicator.barrier();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) mode.step();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  const auto slowest = at::full({1}, took.count() / steps, at::kDouble);
  communicator.all_reduce(slowest, Reduce::max).wait();
  return slowest.item<double>();
}

void run_pairs(const PairArguments& arguments) {
  const auto rank = find_rank(process_environment());
  require(rank.has_value(), Exit::usage, "ddp_pairs is started as a rank", "bench/side_by_side.py does it");
  at::set_num_threads(1);
  const auto communicator = connect(*rank, {});
  const auto file = c10::make_intrusive<c10d::FileStore>(arguments.store, rank->count);
  const auto store = [&](const char* name) { return c10::make_intrusive<c10d::PrefixStore>(name, file); };
  Ours ours(arguments, *communicator), again(arguments, *communicator);
  Theirs copied(arguments, store("copied"), false, *communicator);
  Theirs in_buckets(arguments, store("in_buckets"), true, *communicator);
  std::vector<Mode> modes{{"larmor", [&] { ours.step(); }},
                          {"reducer", [&] { copied.step(); }},
                          {"reducer_view", [&] { in_buckets.step(); }},
                          {"larmor_again", [&] { again.step(); }}};
  for (const auto& mode : modes) time_block(mode, 2, *communicator);
  std::map<std::string, std::vector<double>> milliseconds;
  for (int block = 0; block < arguments.blocks; ++block) {
    for (const auto& mode : modes)
      milliseconds[mode.name].push_back(time_block(mode, arguments.steps, *communicator));
    std::reverse(modes.begin(), modes.end());
  }
  communicator->barrier();
  if (communicator->is_first()) std::cout << Json(milliseconds).dump() << std::endl;
}

}  // namespace
}  // namespace larmor

int main(int count, char** words) {
  try {
    larmor::run_pairs(larmor::read_arguments({words + 1, words + count}));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "ddp_pairs: " << error.what() << "\n";
    return 1;
  }
}
