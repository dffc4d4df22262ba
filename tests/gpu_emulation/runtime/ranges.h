// Sets of bytes, by their addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace emulated {

class Ranges {
 public:
  void add(const void* pointer, size_t bytes);
  void remove(const void* pointer, size_t bytes);
  /// Whether all of these bytes are in the set.
  bool cover(const void* pointer, size_t bytes) const;
  /// Whether any of them is.
  bool meet(const void* pointer, size_t bytes) const;
  /// By the first address of each range, the one behind its last.
  const std::map<uintptr_t, uintptr_t>& all() const { return ends_; }

 private:
  std::map<uintptr_t, uintptr_t> ends_;  // no two of them meet or touch
};

}  // namespace emulated
