#include "tests/cuda_on_cpu/order.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>

namespace cuda_on_cpu {
namespace {

std::mutex mutex;
Order current;

}  // namespace

void set_order(Order order) {
  const std::lock_guard lock(mutex);
  current = order;
}

Order order_of_launches() {
  const std::lock_guard lock(mutex);
  return current;
}

Order order_named(std::string_view word) {
  if (word == "forward") return {.kind = Order::forward};
  if (word == "reversed") return {.kind = Order::reversed};
  if (word == "shuffled") return {.kind = Order::shuffled};
  throw std::invalid_argument("no order of threads: " + std::string(word));
}

const std::vector<uint64_t>& Turns::of(uint64_t count, std::vector<uint64_t>& memory) {
  memory.resize(count);
  std::iota(memory.begin(), memory.end(), uint64_t{0});
  if (kind_ == Order::reversed) std::ranges::reverse(memory);
  if (kind_ == Order::shuffled) std::ranges::shuffle(memory, random_);
  return memory;
}

}  // namespace cuda_on_cpu
