// Which parts of a range of addresses are free, in numbers alone: the bookkeeping of the block pool.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace larmor {

/// Parts [first, first + bytes) that do not overlap. Neighbours are joined, so that what was handed out in
/// small parts can be handed out as a whole again. Every call takes logarithmic time. Not thread-safe.
class FreeRanges {
 public:
  /// Takes `bytes` from the smallest part that has room for them, from the first of equal ones; nothing where
  /// no part has.
  std::optional<size_t> take(size_t bytes);
  /// Requires: no byte of it is free.
  void give(size_t first, size_t bytes);
  /// How many bytes before `end` are free without a gap.
  size_t free_before(size_t end) const;

 private:
  using ByFirst = std::map<size_t, size_t>;  // first: bytes
  void add(size_t first, size_t bytes);
  ByFirst::iterator remove(ByFirst::iterator part);

  ByFirst by_first_;
  std::set<std::pair<size_t, size_t>> by_bytes_;  // bytes, first
};

}  // namespace larmor
