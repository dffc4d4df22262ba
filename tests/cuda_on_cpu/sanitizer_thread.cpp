// ThreadSanitizer takes each fiber for a thread, whose only order with others is where they meet.
#include <sanitizer/tsan_interface.h>

#include "tests/cuda_on_cpu/sanitizer.h"

namespace cuda_on_cpu::sanitizer {

void begin(Stack& stack) {
  if (stack.own == nullptr) stack.own = __tsan_create_fiber(0);  // takes a millisecond: for later blocks, too
}

void before_switch(Stack& from, Stack& to, bool /*from_ends*/) {
  if (from.own == nullptr) from.own = __tsan_get_current_fiber();
  constexpr unsigned without_order = 1;
  __tsan_switch_to_fiber(to.own, without_order);
}

void after_switch(Stack& /*from*/, Stack& /*to*/) {}
void leave(void* place) { __tsan_release(place); }
void meet(void* place) { __tsan_acquire(place); }
void forbid(void* /*memory*/, std::size_t /*bytes*/) {}
void allow(void* /*memory*/, std::size_t /*bytes*/) {}

}  // namespace cuda_on_cpu::sanitizer
