#include "larmor/plan/cheapest_fit.h"

#include <algorithm>
#include <cstddef>

#include "larmor/base/ensure.h"
#include "larmor/base/text.h"
#include "larmor/plan/phrases.h"

namespace larmor {
namespace {

Plan with(const Plan& plan, const MemoryWay& way) {
  Plan changed = plan;
  changed.strategy = way.strategy;
  changed.recompute = way.recompute;
  changed.offload_optimizer = way.offload_optimizer;
  return changed;
}

/// What a way needs with such a micro-batch, before the batch is decided. Several of them need sums of
/// gradients; cut ones may meet at every micro-batch rather than stay whole.
MemoryEstimate least_estimate(const Question& question, Plan plan, int64_t micro_batch) {
  const TrainConfig& train = question.config.train;
  const int64_t follows = train.global_batch.value_or(micro_batch) / plan.world_size() / micro_batch;
  plan.accumulation =
      question.demand.batch_norm ? 1 : train.accumulation.value_or(std::max<int64_t>(follows, 1));
  plan.exchange_every_micro_batch = plan.accumulation > 1;
  return estimate(question, plan, micro_batch);
}

/// Sections of blocks cost a forward pass more than blocks do, which is more than what strategies cost.
std::vector<std::vector<Recompute>> recomputations(const Question& question, const Plan& plan) {
  if (question.config.train.activation_checkpointing != "auto") return {{plan.recompute}};
  std::vector<std::vector<Recompute>> groups{{Recompute::none}};
  const bool always = question.follows_guide() && question.demand.guide.recomputes;
  if (always && question.demand.recomputed_bytes_per_sample > 0) groups.front().clear();
  if (question.demand.recomputed_bytes_per_sample > 0) groups.front().push_back(Recompute::blocks);
  if (question.demand.sectioned_bytes_per_sample > 0) groups.push_back({Recompute::all});
  return groups;
}

/// Strategies that keep the optimizer's states on the host; one rank does it by a part that is the whole.
std::vector<Strategy> that_offload(const Question& question, const Plan& plan,
                                   const std::vector<Strategy>& strategies) {
  const bool is_free = question.config.parallel.offload == "auto" && plan.device == DeviceKind::cuda &&
                       plan.compression == Compression::none;
  if (!is_free) return {};
  if (plan.world_size() == 1 && question.config.parallel.strategy == "auto") return {Strategy::zero1};
  std::vector<Strategy> cut;
  for (const Strategy strategy : strategies) {
    if (is_sharded(strategy)) cut.push_back(strategy);
  }
  return cut;
}

std::vector<MemoryWay> all_ways(const Question& question, const Plan& plan,
                                const std::vector<Strategy>& strategies) {
  std::vector<MemoryWay> ways;
  const auto add = [&](const std::vector<Strategy>& some, bool offloads) {
    for (const auto& group : recomputations(question, plan)) {
      for (const Strategy strategy : some) {
        for (const Recompute recompute : group)
          ways.push_back({.strategy = strategy, .recompute = recompute, .offload_optimizer = offloads});
      }
    }
  };
  add(strategies, plan.offload_optimizer);
  if (!plan.offload_optimizer) add(that_offload(question, plan, strategies), true);
  return ways;
}

bool holds(const Question& question, const Plan& plan, const MemoryEstimate& memory) {
  const auto host = static_cast<int64_t>(question.hardware.free_memory_bytes());
  const bool host_holds = host == 0 || memory.offloaded * plan.world_size() <= host;
  return memory.available == 0 || (memory.total() <= memory.available && host_holds);
}

/// "ddp would need 20 GiB", and the least that it needs otherwise computed; one part a strategy.
std::vector<std::string> refused(const std::vector<MemoryWay>& ways,
                                 const std::vector<MemoryEstimate>& tried) {
  std::vector<std::string> parts;
  std::vector<std::pair<Strategy, bool>> told;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    const std::pair kind(ways[i].strategy, ways[i].offload_optimizer);
    if (std::find(told.begin(), told.end(), kind) != told.end()) continue;
    told.push_back(kind);
    std::string part = text(to_text(kind.first), kind.second ? " with its states on the host" : "",
                            " would need ", human_bytes(tried[i].total()));
    if (parts.empty()) part += text(" of ", human_bytes(tried[i].available), " a rank");
    for (std::size_t j = i + 1; j < tried.size(); ++j) {
      if (std::pair(ways[j].strategy, ways[j].offload_optimizer) != kind) continue;
      part += text(", with ", ways[j].recompute == Recompute::all ? "sections of blocks" : "blocks",
                   " computed again ", human_bytes(tried[j].total()));
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

/// A way that spares less than one part in so many of what is needed is not taken.
constexpr int64_t least_gain = 100;

/// Where none fits: what is too large decides which way is worth its price.
std::size_t least_bad(const Question& question, const Plan& plan, const std::vector<MemoryWay>& ways,
                      const std::vector<MemoryEstimate>& tried, bool& activations_are_too_large) {
  const MemoryEstimate one = least_estimate(question, with(plan, ways.front()), 1);
  activations_are_too_large = one.total() <= one.available;
  std::size_t least = 0;
  for (std::size_t i = 1; i < ways.size(); ++i) {
    const bool changes_the_model = ways[i].strategy != ways.front().strategy ||
                                   ways[i].offload_optimizer != ways.front().offload_optimizer;
    if (activations_are_too_large && changes_the_model) continue;
    if (tried[i].total() < tried[least].total() - tried[least].total() / least_gain) least = i;
  }
  return least;
}

}  // namespace

CheapestFit find_cheapest_fit(const Question& question, const Plan& plan,
                              const std::vector<Strategy>& strategies) {
  const auto ways = all_ways(question, plan, strategies);
  ensure(!ways.empty());
  CheapestFit found;
  found.micro_batch = smallest_micro_batch(question, plan.world_size());
  std::vector<MemoryEstimate> tried;
  for (const MemoryWay& way : ways) {
    const MemoryEstimate memory = least_estimate(question, with(plan, way), found.micro_batch);
    if (tried.empty()) found.cheapest = memory;
    found.way = way;
    found.memory = memory;
    if (holds(question, plan, memory)) {
      found.too_large = refused(ways, tried);
      return found;
    }
    tried.push_back(memory);
  }
  found.fits = false;
  const auto least = least_bad(question, plan, ways, tried, found.activations_are_too_large);
  found.way = ways[least];
  found.memory = tried[least];
  found.too_large = refused(ways, tried);
  return found;
}

}  // namespace larmor
