#include "larmor/measure/block_order.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <ATen/SequenceNumber.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/measure/block_observer.h"
#include "larmor/measure/meta_step.h"

namespace larmor {
namespace {

using Modules = std::vector<const torch::nn::Module*>;

/// Knows which nodes of the graph each block's passes have made: autograd numbers a thread's nodes in turn.
class PassListener final : public BlockObserver {
 public:
  bool made(const torch::nn::Module* block, uint64_t node) const {
    const auto own = passes_.find(block);
    return own != passes_.end() &&
           std::any_of(own->second.begin(), own->second.end(),
                       [node](const Pass& pass) { return pass.begin <= node && node < pass.end; });
  }

 private:
  struct Pass {
    uint64_t begin, end;
  };

  std::vector<at::Tensor> listen(const torch::nn::Module& block, const BlockFunction& run,
                                 const std::vector<at::Tensor>& inputs) override {
    const uint64_t begin = at::sequence_number::peek();
    std::vector<at::Tensor> outputs = run(inputs);
    passes_[&block].push_back({begin, at::sequence_number::peek()});
    return outputs;
  }

  std::map<const torch::nn::Module*, std::vector<Pass>> passes_;
};

/// A parameter that is cut, and the blocks that bring it.
struct CutParameter {
  std::string name;
  Modules blocks;
};

std::map<const c10::TensorImpl*, CutParameter> cut_parameters(Task& trial, const Modules& passed) {
  std::map<const c10::TensorImpl*, CutParameter> cut;
  for (const auto* const block : passed) {
    for (const at::Tensor& parameter : block->parameters())
      cut[parameter.unsafeGetTensorImpl()].blocks.push_back(block);
  }
  for (const Objective& objective : trial.objectives()) {
    for (const auto& item : objective.network->named_parameters()) {
      const auto found = cut.find(item.value().unsafeGetTensorImpl());
      if (found != cut.end()) found->second.name = item.key();
    }
  }
  return cut;
}

/// Throws where a gradient would reach a block's parameter by another way than through the block: what is
/// elsewhere when the block does not run cannot be used then. Uses that learn nothing leave no trace.
void refuse_use_outside_its_block(const PassListener& passes,
                                  const std::map<const c10::TensorImpl*, CutParameter>& cut,
                                  const std::vector<at::Tensor>& results) {
  using torch::autograd::Node;
  std::set<const Node*> seen;
  std::vector<const Node*> ahead;
  const auto count_node = [&](const Node* node) {
    if (node != nullptr && seen.insert(node).second) ahead.push_back(node);
  };
  for (const at::Tensor& result : results) {
    if (result.defined()) count_node(result.grad_fn().get());
  }
  while (!ahead.empty()) {
    const Node* const node = ahead.back();
    ahead.pop_back();
    for (const auto& edge : node->next_edges()) {
      count_node(edge.function.get());
      const auto* const end = dynamic_cast<const torch::autograd::AccumulateGrad*>(edge.function.get());
      if (end == nullptr) continue;
      const auto found = cut.find(end->variable.unsafeGetTensorImpl());
      if (found == cut.end()) continue;
      const auto& [name, blocks] = found->second;
      const bool is_within_its_block = std::any_of(blocks.begin(), blocks.end(), [&](const auto* block) {
        return passes.made(block, node->sequence_nr());
      });
      if (is_within_its_block) continue;
      fail(Exit::usage,
           text("zero3 cannot cut this network: it uses the parameter ", name, " of a block (",
                blocks.front()->name(), ") while the block does not run"),
           "pass what uses it to nn::run_block together with the block, or parallel.strategy=zero2");
    }
  }
}

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
  PassListener listener;
  std::vector<at::Tensor> results;
  {
    const WeightKeeperScope observed(listener);
    try {
      results = forward_on_meta(trial, example, /*samples=*/2);
    } catch (const c10::Error& error) {
      fail(Exit::usage,
           text("zero3 has to know the order of the network's blocks before it runs, and a forward without "
                "values stops: ",
                split(error.what_without_backtrace(), '\n').front()),
           "parallel.strategy=zero2");
    }
  }
  refuse_use_outside_its_block(listener, cut_parameters(trial, listener.passed()), results);
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

BlockOrder blocks_to_cut(const Stage& stage, const RunConfig& config, const Plan& plan, const Index& index,
                         const Dataset& cases, Task& task) {
  if (plan.strategy != Strategy::zero3) return BlockOrder(task.objectives().size());
  const auto trial = stage.task(config, index);
  return block_order(task, *trial, first_readable(cases));
}

}  // namespace larmor
