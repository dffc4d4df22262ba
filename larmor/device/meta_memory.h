// What tensors of the meta device would hold if they had values: how much memory a pass takes at its peak,
// known before there is a device.
#pragma once

#include <cstdint>

namespace larmor {

/// Counts those that this thread makes while the scope is open; workspaces of libraries are not tensors. A
/// tensor that it makes has to die on the same thread.
class MetaMemoryScope {
 public:
  MetaMemoryScope();
  ~MetaMemoryScope();
  MetaMemoryScope(const MetaMemoryScope&) = delete;
  MetaMemoryScope& operator=(const MetaMemoryScope&) = delete;

  /// The most that was held at one time, in bytes.
  int64_t peak() const;
};

}  // namespace larmor
