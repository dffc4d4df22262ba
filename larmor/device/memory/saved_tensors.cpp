#include "larmor/device/memory/saved_tensors.h"

#include <utility>

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

namespace larmor {
namespace {

thread_local const MakeSavedTensorHooks* innermost_hooks = nullptr;

class EngineWithHooks final : public torch::autograd::Engine {
 public:
  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    return innermost_hooks != nullptr && *innermost_hooks ? (*innermost_hooks)() : nullptr;
  }

  /// Never destroyed: its threads may outlive main().
  static torch::autograd::Engine& only_one() {
    static auto* const engine = new EngineWithHooks;
    return *engine;
  }
};

// When the program is loaded: libtorch starts the threads of GPUs for the first engine that runs a backward,
// and for no other, so that a second one fails as soon as a tensor of a GPU comes to it.
[[maybe_unused]] const bool installed = [] {
  torch::autograd::set_default_engine_stub(&EngineWithHooks::only_one);
  return true;
}();

}  // namespace

SavedTensorScope::SavedTensorScope(MakeSavedTensorHooks make)
    : make_(std::move(make)), outer_(std::exchange(innermost_hooks, &make_)) {}

SavedTensorScope::~SavedTensorScope() { innermost_hooks = outer_; }

}  // namespace larmor
