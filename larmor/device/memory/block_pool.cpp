#include "larmor/device/memory/block_pool.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <unistd.h>

namespace larmor {
namespace {

constexpr size_t page_bytes = 4096, growth_bytes = 1 << 21;
constexpr size_t smallest_pooled = 1 << 16, largest_pooled = 1 << 30;

size_t rounded_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

BlockPool::BlockPool(size_t room) {
  void* const reserved =
      mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, /*fd=*/-1, /*offset=*/0);
  if (reserved == MAP_FAILED) return;
  start_ = static_cast<std::byte*>(reserved);
  room_ = room;
}

BlockPool::~BlockPool() {
  if (start_ != nullptr) munmap(start_, room_);
}

bool BlockPool::grow_for(size_t bytes) {
  const size_t more = rounded_up(bytes - free_.free_before(grown_), growth_bytes);
  if (more > room_ - grown_) return false;
  if (mprotect(start_ + grown_, more, PROT_READ | PROT_WRITE) != 0) return false;
  free_.give(grown_, more);
  grown_ += more;
  return true;
}

void* BlockPool::allocate(size_t bytes) {
  const size_t whole = rounded_up(bytes, page_bytes);
  const std::lock_guard lock(mutex_);
  auto first = free_.take(whole);
  if (!first && grow_for(whole)) first = free_.take(whole);
  if (!first) return nullptr;
  taken_.emplace(*first, whole);
  return start_ + *first;
}

bool BlockPool::owns(const void* block) const {
  const auto* const byte = static_cast<const std::byte*>(block);
  return byte >= start_ && byte < start_ + room_;
}

void BlockPool::release(void* block) {
  const auto first = static_cast<size_t>(static_cast<std::byte*>(block) - start_);
  const std::lock_guard lock(mutex_);
  const auto taken = taken_.find(first);
  free_.give(first, taken->second);
  taken_.erase(taken);
}

size_t BlockPool::grown_bytes() const {
  const std::lock_guard lock(mutex_);
  return grown_;
}

namespace {

class PooledAllocator final : public c10::Allocator {
 public:
  PooledAllocator(size_t room, c10::Allocator& others) : others_(others) {
    pool = new BlockPool(room);  // never destroyed: tensors may outlive main()
    release_other = others.raw_deleter();
  }

  c10::DataPtr allocate(size_t bytes) override {
    const bool is_pooled = bytes >= smallest_pooled && bytes < largest_pooled;
    void* const block = is_pooled ? pool->allocate(bytes) : nullptr;
    if (block == nullptr) return others_.allocate(bytes);
    return {block, block, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }

 private:
  static void release(void* block) {
    if (pool->owns(block))
      pool->release(block);
    else
      release_other(block);
  }

  static inline BlockPool* pool = nullptr;
  static inline c10::DeleterFnPtr release_other = nullptr;
  c10::Allocator& others_;
};

bool addresses_are_limited() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

size_t machine_bytes() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
}

}  // namespace

void start_block_pool() {
#ifndef __SANITIZE_ADDRESS__
  static std::once_flag done;
  std::call_once(done, [] {
    if (addresses_are_limited()) return;
    static auto* const pooled = new PooledAllocator(machine_bytes(), *c10::GetCPUAllocator());
    constexpr uint8_t above_the_default_below_the_meter = 50;
    c10::SetCPUAllocator(pooled, above_the_default_below_the_meter);
  });
#endif
}

}  // namespace larmor
