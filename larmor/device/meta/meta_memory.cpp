#include "larmor/device/meta/meta_memory.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>

namespace larmor {

struct MetaMemoryScope::Count {
  int64_t held = 0, peak = 0;
  std::shared_ptr<Count> outer = {};

  void add(int64_t bytes) {
    held += bytes;
    peak = std::max(peak, held);
    if (outer) outer->add(bytes);
  }
};

namespace {

using Count = MetaMemoryScope::Count;

/// Of the innermost scope that is open on this thread. What is made in one may die after it.
thread_local std::shared_ptr<Count> count_of_thread;

struct Block {
  std::shared_ptr<Count> count;
  int64_t bytes = 0;
};

/// Gives no memory, as libtorch's own for this device.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device meta(c10::kMeta);
    if (!count_of_thread) return {nullptr, nullptr, &release, meta};
    auto block = std::make_unique<Block>(Block{count_of_thread, static_cast<int64_t>(bytes)});
    block->count->add(block->bytes);
    return {nullptr, block.release(), &release, meta};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* /*to*/, const void* /*from*/, size_t /*bytes*/) const override {}

 private:
  static void release(void* block) {
    const std::unique_ptr<Block> owned(static_cast<Block*>(block));
    if (owned) owned->count->add(-owned->bytes);
  }
};

}  // namespace

MetaMemoryScope::MetaMemoryScope() {
  static std::once_flag done;
  std::call_once(done, [] {
    // Never destroyed: tensors may outlive main().
    static auto* const counting = new CountingAllocator;
    constexpr uint8_t above_the_default = 100;
    c10::SetAllocator(c10::kMeta, counting, above_the_default);
  });
  count_ = std::make_shared<Count>();
  count_->outer = std::exchange(count_of_thread, count_);
}

MetaMemoryScope::~MetaMemoryScope() { count_of_thread = count_->outer; }

int64_t MetaMemoryScope::peak() const { return count_->peak; }

}  // namespace larmor
