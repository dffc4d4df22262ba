#include "larmor/device/memory/poisoned_memory.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

namespace larmor {
namespace {

constexpr std::size_t guard = 4096;        // as far as a kernel is known to write past an end, and a page
constexpr unsigned char no_number = 0xff;  // all bits set is NaN in every type

thread_local bool poisons = false;
thread_local int64_t overruns = 0;

std::size_t whole_pages(std::size_t bytes) { return (bytes + guard - 1) / guard * guard; }

bool is_untouched(const unsigned char* first, const unsigned char* end) {
  return std::all_of(first, end, [](unsigned char byte) { return byte == no_number; });
}

/// Blocks between guards. Thread-safe.
class GuardedBlocks {
 public:
  void* take(std::size_t bytes) {
    const std::size_t all = guard + whole_pages(bytes) + guard;
    auto* const whole = static_cast<unsigned char*>(std::aligned_alloc(guard, all));
    if (whole == nullptr) throw std::bad_alloc();
    std::memset(whole, no_number, all);
    const std::lock_guard lock(mutex_);
    bytes_.emplace(whole + guard, bytes);
    count_.fetch_add(1);
    return whole + guard;
  }

  /// False where the block is another's.
  bool give_back(void* block) {
    if (count_.load() == 0) return false;
    std::size_t bytes = 0;
    {
      const std::lock_guard lock(mutex_);
      const auto found = bytes_.find(block);
      if (found == bytes_.end()) return false;
      bytes = found->second;
      bytes_.erase(found);
      count_.fetch_sub(1);
    }
    auto* const first = static_cast<unsigned char*>(block);
    const bool is_whole =
        is_untouched(first - guard, first) && is_untouched(first + bytes, first + whole_pages(bytes) + guard);
    if (!is_whole) ++overruns;
    std::free(first - guard);
    return true;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> bytes_;
  std::atomic<int64_t> count_{0};
};

class PoisonableAllocator final : public c10::Allocator {
 public:
  explicit PoisonableAllocator(c10::Allocator& others) : others_(others) {
    guarded = new GuardedBlocks;  // never destroyed: tensors may outlive main()
    release_other = others.raw_deleter();
  }

  c10::DataPtr allocate(std::size_t bytes) override {
    if (!poisons || bytes == 0) return others_.allocate(bytes);
    void* const block = guarded->take(bytes);
    return {block, block, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

 private:
  static void release(void* block) {
    if (!guarded->give_back(block)) release_other(block);
  }

  static inline GuardedBlocks* guarded = nullptr;
  static inline c10::DeleterFnPtr release_other = nullptr;
  c10::Allocator& others_;
};

}  // namespace

void start_poisonable_memory() {
  static std::once_flag done;
  std::call_once(done, [] {
    static auto* const poisonable = new PoisonableAllocator(*c10::GetCPUAllocator());
    // Below the memory meter, so that it can still be started; above it where it was started before.
    constexpr uint8_t of_the_pool = 50, of_the_meter = 100;
    for (const uint8_t priority : {of_the_pool, of_the_meter}) {
      c10::SetCPUAllocator(poisonable, priority);
      if (c10::GetCPUAllocator() == poisonable) return;
    }
  });
}

PoisonedMemory::PoisonedMemory() : outer_(poisons), overrun_before_(overruns) {
  start_poisonable_memory();
  poisons = true;
}

PoisonedMemory::~PoisonedMemory() { poisons = outer_; }

int64_t PoisonedMemory::overrun() const { return overruns - overrun_before_; }

}  // namespace larmor
