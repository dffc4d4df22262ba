#include "larmor/device/meta/saved_bytes.h"

#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <torch/csrc/autograd/saved_variable_hooks.h>

namespace larmor {

/// Backward may let tensors go on a thread of its own.
class SavedBytes::Ledger {
 public:
  explicit Ledger(const std::vector<at::Tensor>& others) {
    for (const at::Tensor& tensor : others) {
      if (!tensor.defined() || !tensor.has_storage()) continue;
      kept_.push_back(tensor.storage());  // so that no later storage comes to lie at its address
      left_out_.insert(tensor.storage().unsafeGetStorageImpl());
    }
  }

  void enter(const at::Tensor& tensor) {
    const std::lock_guard guard(mutex_);
    if (!counts(tensor)) return;
    if (holders_[tensor.storage().unsafeGetStorageImpl()]++ == 0) bytes_ += bytes_of(tensor);
  }

  /// Requires: `tensor` is alive and has been entered.
  void leave(const at::Tensor& tensor) {
    const std::lock_guard guard(mutex_);
    if (!counts(tensor)) return;
    const auto place = holders_.find(tensor.storage().unsafeGetStorageImpl());
    if (--place->second > 0) return;
    bytes_ -= bytes_of(tensor);
    holders_.erase(place);
  }

  int64_t bytes_with(const std::vector<at::Tensor>& tensors) const {
    const std::lock_guard guard(mutex_);
    int64_t bytes = bytes_;
    std::set<const c10::StorageImpl*> added;
    for (const at::Tensor& tensor : tensors) {
      if (!tensor.defined() || !counts(tensor)) continue;
      const auto* const storage = tensor.storage().unsafeGetStorageImpl();
      if (!holders_.contains(storage) && added.insert(storage).second) bytes += bytes_of(tensor);
    }
    return bytes;
  }

 private:
  bool counts(const at::Tensor& tensor) const {
    return tensor.has_storage() && !left_out_.contains(tensor.storage().unsafeGetStorageImpl());
  }
  static int64_t bytes_of(const at::Tensor& tensor) {
    return static_cast<int64_t>(tensor.storage().nbytes());
  }

  mutable std::mutex mutex_;
  std::vector<c10::Storage> kept_;
  std::set<const c10::StorageImpl*> left_out_;
  std::map<const c10::StorageImpl*, int64_t> holders_;  // graph nodes that hold each storage
  int64_t bytes_ = 0;
};

namespace {

/// Holds a saved tensor as autograd would. Without its graph, which for an output would be a circle.
template <class Ledger>
class LedgerEntry final : public torch::autograd::SavedVariableHooks {
 public:
  explicit LedgerEntry(std::shared_ptr<Ledger> ledger) : ledger_(std::move(ledger)) {}
  ~LedgerEntry() override {
    if (tensor_.defined()) ledger_->leave(tensor_);
  }
  LedgerEntry(const LedgerEntry&) = delete;
  LedgerEntry& operator=(const LedgerEntry&) = delete;

  void call_pack_hook(const at::Tensor& tensor) override {
    tensor_ = tensor.detach();
    ledger_->enter(tensor_);
  }
  at::Tensor call_unpack_hook() override { return tensor_; }

 private:
  std::shared_ptr<Ledger> ledger_;
  at::Tensor tensor_;
};

}  // namespace

SavedBytes::SavedBytes(const std::vector<at::Tensor>& others)
    : ledger_(std::make_shared<Ledger>(others)),
      scope_([ledger = ledger_] { return std::make_unique<LedgerEntry<Ledger>>(ledger); }) {}

int64_t SavedBytes::bytes() const { return ledger_->bytes_with({}); }

int64_t SavedBytes::bytes_with(const std::vector<at::Tensor>& tensors) const {
  return ledger_->bytes_with(tensors);
}

}  // namespace larmor
