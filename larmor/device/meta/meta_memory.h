// What tensors of the meta device would hold if they had values: how much memory a pass takes at its peak,
// known before there is a device.
#pragma once

#include <cstdint>
#include <memory>

namespace larmor {

/// Counts those that this thread makes while the scope is open, in scopes within it too; workspaces of
/// libraries are not tensors. A tensor that it makes has to die on the same thread.
class MetaMemoryScope {
 public:
  MetaMemoryScope();
  ~MetaMemoryScope();
  MetaMemoryScope(const MetaMemoryScope&) = delete;
  MetaMemoryScope& operator=(const MetaMemoryScope&) = delete;

  /// The most that was held at one time, in bytes.
  int64_t peak() const;

  struct Count;

 private:
  std::shared_ptr<Count> count_;
};

}  // namespace larmor
