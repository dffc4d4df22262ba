// The memory of all cards. A device pointer lies in pages that nobody may touch, so that host code that
// follows one crashes as it would with a card; the bytes lie at a fixed distance, where host_address() finds
// them.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "tests/gpu_emulation/runtime/ranges.h"

namespace emulated {

class DeviceMemory {
 public:
  explicit DeviceMemory(int devices);

  /// Null where the addresses of the device are used up.
  void* take(int device, size_t bytes);
  /// Addresses without bytes; null as take().
  void* reserve(int device, size_t bytes);
  /// Bytes for a part of them, and none any more.
  bool put_pages(void* pointer, size_t bytes);
  void drop_pages(void* pointer, size_t bytes);
  /// How many bytes, or addresses, go back, in whole granules; 0: no block begins there.
  size_t release(void* pointer);
  static size_t granules(size_t bytes);

  bool contains(const void* pointer) const;
  int device_of(const void* pointer) const;
  void* host_address(const void* pointer) const;
  /// The addresses that have bytes.
  const Ranges& mapped() const { return mapped_; }

 private:
  char* base_ = nullptr;
  size_t span_ = 0;  // addresses of one device
  size_t distance_ = 0;
  std::vector<std::map<size_t, size_t>> blocks_;  // of each device: offset to length
  Ranges mapped_;
};

}  // namespace emulated
