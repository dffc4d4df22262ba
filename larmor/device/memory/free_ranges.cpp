#include "larmor/device/memory/free_ranges.h"

#include <iterator>

namespace larmor {

void FreeRanges::add(size_t first, size_t bytes) {
  by_first_.emplace(first, bytes);
  by_bytes_.emplace(bytes, first);
}

FreeRanges::ByFirst::iterator FreeRanges::remove(ByFirst::iterator part) {
  by_bytes_.erase({part->second, part->first});
  return by_first_.erase(part);
}

std::optional<size_t> FreeRanges::take(size_t bytes) {
  const auto smallest = by_bytes_.lower_bound({bytes, 0});
  if (smallest == by_bytes_.end()) return {};
  const auto [free_bytes, first] = *smallest;
  remove(by_first_.find(first));
  if (free_bytes > bytes) add(first + bytes, free_bytes - bytes);
  return first;
}

void FreeRanges::give(size_t first, size_t bytes) {
  auto next = by_first_.lower_bound(first);
  if (next != by_first_.end() && next->first == first + bytes) {
    bytes += next->second;
    next = remove(next);
  }
  if (next != by_first_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == first) {
      first = before->first;
      bytes += before->second;
      remove(before);
    }
  }
  add(first, bytes);
}

size_t FreeRanges::free_before(size_t end) const {
  const auto after = by_first_.lower_bound(end);
  if (after == by_first_.begin()) return 0;
  const auto last = std::prev(after);
  return last->first + last->second == end ? last->second : 0;
}

}  // namespace larmor
