// AddressSanitizer keeps local variables of a stack elsewhere, and knows which bytes of it are none's.
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

#include "tests/cuda_on_cpu/sanitizer.h"

namespace cuda_on_cpu::sanitizer {

void begin(Stack& stack) {
  __asan_unpoison_memory_region(stack.bottom, stack.bytes);
  stack.own = nullptr;
}

void before_switch(Stack& from, Stack& to, bool from_ends) {
  __sanitizer_start_switch_fiber(from_ends ? nullptr : &from.own, to.bottom, to.bytes);
}

void after_switch(Stack& from, Stack& to) {
  __sanitizer_finish_switch_fiber(to.own, &from.bottom, &from.bytes);
}

void leave(void* /*place*/) {}
void meet(void* /*place*/) {}
void forbid(void* memory, std::size_t bytes) { __asan_poison_memory_region(memory, bytes); }
void allow(void* memory, std::size_t bytes) { __asan_unpoison_memory_region(memory, bytes); }

}  // namespace cuda_on_cpu::sanitizer
