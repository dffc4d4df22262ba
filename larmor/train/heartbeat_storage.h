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
  HeartbeatStorage(std::unique_ptr<Storage> inner, std::function<void()> show)
      : HookedStorage(std::move(inner)), show_(std::move(show)) {}

 protected:
  void after() const override { show_(); }

 private:
  std::function<void()> show_;
};

}  // namespace larmor
