// A storage that sends heartbeats, so that a slow write is not taken for a hang.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "larmor/base/files/hooked_storage.h"

namespace larmor {

/// Calls `sign` after each operation and each write that has succeeded.
class HeartbeatStorage final : public HookedStorage {
 public:
  HeartbeatStorage(std::unique_ptr<Storage> inner, std::function<void()> sign)
      : HookedStorage(std::move(inner)), sign_(std::move(sign)) {}

 protected:
  void after() const override { sign_(); }

 private:
  std::function<void()> sign_;
};

}  // namespace larmor
