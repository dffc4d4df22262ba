// What autograd keeps for backward, put into other hands. libtorch offers such hooks to Python alone; here
// they come through an engine of ours, which differs from the usual one in nothing else.
#pragma once

#include <functional>
#include <memory>

namespace torch::autograd {
struct SavedVariableHooks;
}

namespace larmor {

using MakeSavedTensorHooks = std::function<std::unique_ptr<torch::autograd::SavedVariableHooks>()>;

/// While it lives, each tensor that an operator of this thread saves for backward is packed by hooks from
/// `make`; an empty `make` leaves saving as it is. The innermost scope counts. Autograd does not notice
/// when a tensor that went through hooks is changed in place.
class SavedTensorScope {
 public:
  explicit SavedTensorScope(MakeSavedTensorHooks make);
  ~SavedTensorScope();
  SavedTensorScope(const SavedTensorScope&) = delete;
  SavedTensorScope& operator=(const SavedTensorScope&) = delete;

 private:
  MakeSavedTensorHooks make_;
  const MakeSavedTensorHooks* outer_;
};

}  // namespace larmor
