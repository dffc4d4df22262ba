#include "larmor/train/block_order.h"

#include <algorithm>
#include <string>
#include <utility>

#include <c10/util/Exception.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/run_block.h"
#include "larmor/train/activation_count.h"

namespace larmor {
namespace {

using Modules = std::vector<const torch::nn::Module*>;

class BlockListener final : public WeightKeeper {
 public:
  bool keeps(const torch::nn::Module& /*block*/) const override { return !inside_; }
  BlockFunction with_weights(const torch::nn::Module& block, BlockFunction run) override {
    if (std::find(passed_.begin(), passed_.end(), &block) == passed_.end()) passed_.push_back(&block);
    return [this, run = std::move(run)](const std::vector<at::Tensor>& inputs) {
      inside_ = true;
      std::vector<at::Tensor> outputs = run(inputs);
      inside_ = false;
      return outputs;
    };
  }
  void expect_backward(const torch::nn::Module& /*block*/, const std::vector<at::Tensor>& /*inputs*/,
                       const std::vector<at::Tensor>& /*outputs*/) override {}
  const Modules& passed() const { return passed_; }

 private:
  bool inside_ = false;
  Modules passed_;
};

/// The modules of `network` that are where those of `passed` are in `alike`, another network made alike.
Modules counterparts(const torch::nn::Module& network, const torch::nn::Module& alike,
                     const Modules& passed) {
  std::vector<std::pair<const torch::nn::Module*, const torch::nn::Module*>> pairs;
  const auto own = network.modules(/*include_self=*/false), others = alike.modules(/*include_self=*/false);
  for (size_t i = 0; i < own.size(); ++i) pairs.emplace_back(others[i].get(), own[i].get());
  Modules found;
  for (const auto* const module : passed) {
    for (const auto& [other, one] : pairs) {
      if (other == module) found.push_back(one);
    }
  }
  return found;
}

}  // namespace

BlockOrder block_order(Task& task, Task& trial, const Sample& example) {
  BlockListener listener;
  {
    const WeightKeeperScope door(listener);
    try {
      forward_on_meta(trial, example, /*samples=*/2);
    } catch (const c10::Error& error) {
      fail(Exit::usage,
           text("zero3 has to know the order of the network's blocks before it runs, and a forward without "
                "values stops: ",
                split(error.what_without_backtrace(), '\n').front()),
           "parallel.strategy=zero2");
    }
  }
  BlockOrder order;
  const auto objectives = task.objectives(), trials = trial.objectives();
  for (size_t i = 0; i < objectives.size(); ++i)
    order.push_back(counterparts(*objectives[i].network, *trials[i].network, listener.passed()));
  return order;
}

namespace {

Sample first_readable(const Dataset& cases) {
  for (int64_t example = 0; example + 1 < cases.size(); ++example) {
    try {
      return cases.get({.seed = 0, .epoch = 0, .example = example});
    } catch (const Error& error) {
      if (error.exit() != Exit::data) throw;
    }
  }
  return cases.get({.seed = 0, .epoch = 0, .example = cases.size() - 1});
}

}  // namespace

BlockOrder blocks_to_cut(Workload& workload, const RunConfig& config, const Plan& plan, const Index& index,
                         const Dataset& cases, Task& task) {
  if (plan.strategy != Strategy::zero3) return BlockOrder(task.objectives().size());
  const auto trial = workload.task(config, index);
  return block_order(task, *trial, first_readable(cases));
}

}  // namespace larmor
