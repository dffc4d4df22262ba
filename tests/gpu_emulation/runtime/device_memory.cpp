#include "tests/gpu_emulation/runtime/device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/gpu_emulation/machine.h"

namespace emulated {
namespace {

constexpr size_t granule = 2 * mebibyte;
/// Addresses of one device: a segment that may grow reserves more than the card has, each stream has two, and
/// so has each graph's pool. Processes have 2^47 of them.
size_t span_for(size_t devices) {
  constexpr size_t most = size_t{1} << 42, all = size_t{1} << 45;
  return std::min(most, all / std::max<size_t>(devices, 1) / granule * granule);
}

}  // namespace

DeviceMemory::DeviceMemory(int devices)
    : span_(span_for(static_cast<size_t>(devices))),
      distance_(span_ * static_cast<size_t>(std::max(devices, 1))),
      blocks_(static_cast<size_t>(devices)) {
  void* const area =
      mmap(nullptr, 2 * distance_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (area == MAP_FAILED) {
    std::perror("emulated GPU: no addresses for device memory");
    std::abort();
  }
  base_ = static_cast<char*>(area);
}

size_t DeviceMemory::granules(size_t bytes) {
  return (std::max<size_t>(bytes, 1) + granule - 1) / granule * granule;
}

void* DeviceMemory::reserve(int device, size_t bytes) {
  const size_t length = granules(bytes);
  auto& blocks = blocks_[static_cast<size_t>(device)];
  size_t offset = 0;
  for (const auto& [start, taken] : blocks) {
    if (start - offset >= length) break;
    offset = start + taken;
  }
  if (offset + length > span_) return nullptr;
  blocks[offset] = length;
  return base_ + span_ * static_cast<size_t>(device) + offset;
}

bool DeviceMemory::put_pages(void* pointer, size_t bytes) {
  if (mprotect(static_cast<char*>(pointer) + distance_, bytes, PROT_READ | PROT_WRITE) != 0) return false;
  mapped_.add(pointer, bytes);
  return true;
}

void DeviceMemory::drop_pages(void* pointer, size_t bytes) {
  char* const place = static_cast<char*>(pointer) + distance_;
  madvise(place, bytes, MADV_DONTNEED);
  mprotect(place, bytes, PROT_NONE);
  mapped_.remove(pointer, bytes);
}

void* DeviceMemory::take(int device, size_t bytes) {
  void* const pointer = reserve(device, bytes);
  if (pointer == nullptr || put_pages(pointer, granules(bytes))) return pointer;
  release(pointer);
  return nullptr;
}

size_t DeviceMemory::release(void* pointer) {
  const auto place = static_cast<size_t>(static_cast<char*>(pointer) - base_);
  auto& blocks = blocks_[place / span_];
  const auto block = blocks.find(place % span_);
  if (block == blocks.end()) return 0;
  const size_t length = block->second;
  drop_pages(pointer, length);
  blocks.erase(block);
  return length;
}

bool DeviceMemory::contains(const void* pointer) const {
  const auto* const address = static_cast<const char*>(pointer);
  return address >= base_ && address < base_ + distance_;
}

int DeviceMemory::device_of(const void* pointer) const {
  return static_cast<int>(static_cast<size_t>(static_cast<const char*>(pointer) - base_) / span_);
}

void* DeviceMemory::host_address(const void* pointer) const {
  auto* const address = static_cast<char*>(const_cast<void*>(pointer));
  return contains(pointer) ? address + distance_ : address;
}

}  // namespace emulated
