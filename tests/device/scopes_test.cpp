#include <array>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include "larmor/device/autocast.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/heartbeat.h"
#include "larmor/device/initialisation.h"
#include "larmor/device/layout.h"
#include "larmor/device/memory/saved_tensors.h"
#include "larmor/device/meta/meta_memory.h"
#include "larmor/device/rank_sum.h"
#include "larmor/device/run_block.h"
#include "larmor/device/tensors/weight_keepers.h"

#include "tests/support/scope_contract.h"

namespace larmor::testing {
namespace {

using Work = std::function<void()>;

struct Layouts {
  Layout state() { return layout_here(); }
  void within(int /*which*/, const Work& work) {
    const LayoutScope scope(Layout::channels_last);
    work();
  }
};

auto autocast_now() {
  const auto now = AutocastState::now();
  return std::tuple(now.enabled, now.types, now.keeps_casts);
}

struct Autocasts {
  auto state() { return autocast_now(); }
  void within(int which, const Work& work) {
    const AutocastScope scope(c10::kCPU, which == 0 ? Precision::bf16 : Precision::fp16);
    work();
  }
};

struct AutocastsAgain {
  auto state() { return autocast_now(); }
  void within(int which, const Work& work) {
    AutocastState other;
    other.enabled = {which == 0, true};
    other.types = {at::kBFloat16, which == 0 ? at::kBFloat16 : at::kHalf};
    const AutocastAgain scope(other);
    work();
  }
};

struct Heartbeats {
  struct Nobody final : Heartbeat {
    void show() override {}
  };
  Heartbeat* state() { return heartbeat(); }
  void within(int which, const Work& work) {
    const HeartbeatScope scope(&signs_.at(static_cast<size_t>(which)));
    work();
  }
  std::array<Nobody, 2> signs_;
};

struct RankSums {
  struct Alone final : RankSum {
    int ranks() const override { return 1; }
    void add_up(const at::Tensor& /*values*/) override {}
  };
  RankSum* state() { return rank_sum(); }
  void within(int which, const Work& work) {
    const RankSumScope scope(&sums_.at(static_cast<size_t>(which)));
    work();
  }
  std::array<Alone, 2> sums_;
};

struct Recomputations {
  Recompute state() { return recompute_here(); }
  void within(int which, const Work& work) {
    const RecomputeScope scope(which == 0 ? Recompute::blocks : Recompute::all);
    work();
  }
};

struct AbsentKeeper final : WeightKeeper {
  bool keeps(const torch::nn::Module& /*block*/) const override { return false; }
  BlockFunction with_weights(const torch::nn::Module& /*block*/, BlockFunction run) override { return run; }
  void expect_backward(const torch::nn::Module& /*block*/, const std::vector<at::Tensor>& /*inputs*/,
                       const std::vector<at::Tensor>& /*outputs*/) override {}
};

struct Keepers {
  std::vector<WeightKeeper*> state() { return weight_keepers(); }
  void within(int which, const Work& work) {
    const WeightKeeperScope scope(keepers_.at(static_cast<size_t>(which)));
    work();
  }
  std::array<AbsentKeeper, 2> keepers_;
};

struct KeepersAgain {
  std::vector<WeightKeeper*> state() { return weight_keepers(); }
  void within(int which, const Work& work) {
    const WeightKeepersAgain scope(which == 0 ? std::vector<WeightKeeper*>{&keeper_, &keeper_}
                                              : std::vector<WeightKeeper*>{&keeper_});
    work();
  }
  AbsentKeeper keeper_;
};

struct Draws {
  auto state() { return std::pair(draw_place().rows.get(), draw_place().turn); }
  void within(int which, const Work& work) {
    const DrawScope scope(DrawPosition{.seed = 1, .epochs = {0}, .examples = {which}, .turn = which});
    work();
  }
};

struct Turns {
  int64_t state() { return draw_place().turn; }
  void within(int which, const Work& work) {
    const DrawTurn scope(which + 5);
    work();
  }
};

struct SeededInitialisations {
  uint64_t state() { return default_generator_fingerprint(); }
  void within(int which, const Work& work) {
    const SeededInitialisation scope(static_cast<uint64_t>(which) + 77);
    work();
  }
};

/// Whether weights are drawn on this thread.
bool are_drawn() {
  const at::Tensor weight = at::ones({2});
  initialise_uniform(weight, 2, 3);
  return weight[0].item<float>() >= 2;
}

struct SkippedInitialisations {
  auto state() {
    std::vector<size_t> sizes;
    for (const auto* const scope : open_) sizes.push_back(scope->undrawn().size());
    const bool drawn = are_drawn();
    for (size_t i = 0; i < open_.size(); ++i) sizes[i] = open_[i]->undrawn().size() - sizes[i];
    return std::pair(drawn, sizes);
  }
  void within(int /*which*/, const Work& work) {
    const SkippedInitialisation scope;
    open_.push_back(&scope);
    const std::unique_ptr<void, std::function<void(void*)>> closing(this,
                                                                    [this](void*) { open_.pop_back(); });
    work();
  }
  std::vector<const SkippedInitialisation*> open_;
};

struct DrawnInitialisations {
  bool state() { return are_drawn(); }
  void within(int /*which*/, const Work& work) {
    const DrawnInitialisation scope;
    work();
  }
  SkippedInitialisation around_;
};

struct MetaMemory {
  /// Which of the open scopes counts what is made now.
  std::vector<bool> state() {
    std::vector<int64_t> before;
    for (const auto* const scope : open_) before.push_back(scope->peak());
    bytes_ *= 2;
    static_cast<void>(at::empty({bytes_}, at::TensorOptions().dtype(at::kByte).device(at::kMeta)));
    std::vector<bool> counted;
    for (size_t i = 0; i < open_.size(); ++i) counted.push_back(open_[i]->peak() > before[i]);
    return counted;
  }
  void within(int /*which*/, const Work& work) {
    const MetaMemoryScope scope;
    open_.push_back(&scope);
    const std::unique_ptr<void, std::function<void(void*)>> closing(this,
                                                                    [this](void*) { open_.pop_back(); });
    work();
  }
  std::vector<const MetaMemoryScope*> open_;
  int64_t bytes_ = 64;
};

struct SavedTensors {
  struct Kept final : torch::autograd::SavedVariableHooks {
    void call_pack_hook(const at::Tensor& tensor) override { kept = tensor.detach(); }
    at::Tensor call_unpack_hook() override { return kept; }
    at::Tensor kept;
  };
  /// Whose hooks pack what is saved now; 0: nobody's.
  int state() {
    packed_by_ = 0;
    static_cast<void>(at::ones({1}).requires_grad_().exp());
    return packed_by_;
  }
  void within(int /*which*/, const Work& work) {
    const int number = ++made_;
    const SavedTensorScope scope([this, number] {
      packed_by_ = number;
      return std::make_unique<Kept>();
    });
    work();
  }
  int made_ = 0, packed_by_ = 0;
};

using Kinds = ::testing::Types<Layouts, Autocasts, AutocastsAgain, Heartbeats, RankSums, Recomputations,
                               Keepers, KeepersAgain, Draws, Turns, SeededInitialisations,
                               SkippedInitialisations, DrawnInitialisations, MetaMemory, SavedTensors>;
INSTANTIATE_TYPED_TEST_SUITE_P(Device, ScopeContract, Kinds);

}  // namespace
}  // namespace larmor::testing
