#include "tests/gpu_emulation/runtime/ranges.h"

#include <algorithm>
#include <iterator>

namespace emulated {
namespace {

uintptr_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace

void Ranges::add(const void* pointer, size_t bytes) {
  if (bytes == 0) return;
  uintptr_t begin = address_of(pointer), end = begin + bytes;
  auto each = ends_.upper_bound(begin);
  if (each != ends_.begin() && std::prev(each)->second >= begin) --each;
  while (each != ends_.end() && each->first <= end) {
    begin = std::min(begin, each->first);
    end = std::max(end, each->second);
    each = ends_.erase(each);
  }
  ends_[begin] = end;
}

void Ranges::remove(const void* pointer, size_t bytes) {
  if (bytes == 0) return;
  const uintptr_t begin = address_of(pointer), end = begin + bytes;
  auto each = ends_.upper_bound(begin);
  if (each != ends_.begin() && std::prev(each)->second > begin) --each;
  while (each != ends_.end() && each->first < end) {
    const auto [first, last] = *each;
    each = ends_.erase(each);
    if (first < begin) ends_[first] = begin;
    if (last > end) ends_[end] = last;
  }
}

bool Ranges::cover(const void* pointer, size_t bytes) const {
  if (bytes == 0) return true;
  const auto next = ends_.upper_bound(address_of(pointer));
  return next != ends_.begin() && std::prev(next)->second >= address_of(pointer) + bytes;
}

bool Ranges::meet(const void* pointer, size_t bytes) const {
  if (bytes == 0) return false;
  const auto next = ends_.lower_bound(address_of(pointer) + bytes);
  return next != ends_.begin() && std::prev(next)->second > address_of(pointer);
}

}  // namespace emulated
