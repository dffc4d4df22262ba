#include "larmor/device/memory/memory_meter.h"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <mutex>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

namespace larmor {
namespace {

// A block's size stands before it. As wide as libtorch aligns, so that the block is aligned as well.
constexpr size_t header_bytes = 64;

// Figures, not signals: nobody reads other memory because of them.
constexpr auto relaxed = std::memory_order_relaxed;
std::atomic<int64_t> held_bytes{0}, peak_bytes{0}, most_bytes{0};

void refuse_beyond_the_limit(int64_t bytes) {
  const int64_t most = most_bytes.load(relaxed), held = held_bytes.load(relaxed);
  TORCH_CHECK_WITH(OutOfMemoryError, most == 0 || held + bytes <= most, "out of memory: ", held,
                   " bytes are held, ", bytes, " more asked for, and the limit is ", most);
}

void add_held(int64_t bytes) {
  const int64_t held = held_bytes.fetch_add(bytes, relaxed) + bytes;
  int64_t peak = peak_bytes.load(relaxed);
  while (held > peak && !peak_bytes.compare_exchange_weak(peak, held, relaxed)) {
  }
}

class MeteredAllocator final : public c10::Allocator {
 public:
  explicit MeteredAllocator(c10::Allocator& inner) : inner_(inner) { release_inner = inner.raw_deleter(); }

  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device cpu(c10::kCPU);
    if (bytes == 0) return {nullptr, nullptr, &release, cpu};
    const auto size = static_cast<int64_t>(bytes);
    refuse_beyond_the_limit(size);
    auto* const block = static_cast<std::byte*>(inner_.raw_allocate(bytes + header_bytes));
    std::memcpy(block, &size, sizeof(size));
    add_held(size);
    std::byte* const data = block + header_bytes;
    return {data, data, &release, cpu};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }

  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }

 private:
  static void release(void* data) {
    if (data == nullptr) return;
    std::byte* const block = static_cast<std::byte*>(data) - header_bytes;
    int64_t size = 0;
    std::memcpy(&size, block, sizeof(size));
    held_bytes.fetch_sub(size, relaxed);
    release_inner(block);
  }

  static inline c10::DeleterFnPtr release_inner = nullptr;
  c10::Allocator& inner_;
};

}  // namespace

void start_memory_meter() {
  static std::once_flag done;
  std::call_once(done, [] {
    // Never destroyed: tensors may outlive main(). Each block knows how it is to be freed, so those from
    // before go back to where they came from.
    static auto* const metered = new MeteredAllocator(*c10::GetCPUAllocator());
    constexpr uint8_t above_the_default = 100;
    c10::SetCPUAllocator(metered, above_the_default);
  });
}

MeteredMemory metered_memory() {
  return {.held = held_bytes.load(relaxed), .peak = peak_bytes.load(relaxed)};
}

void limit_metered_memory(int64_t bytes) { most_bytes.store(bytes, relaxed); }

int64_t metered_memory_limit() { return most_bytes.load(relaxed); }

void reset_metered_peak() { peak_bytes.store(held_bytes.load(relaxed), relaxed); }

}  // namespace larmor
