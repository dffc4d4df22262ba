// What a sanitizer has to be told of stacks that change places, and of the order in which fibers meet. One
// source of three is linked: sanitizer_none.cpp, sanitizer_address.cpp or sanitizer_thread.cpp.
#pragma once

#include <cstddef>

namespace cuda_on_cpu::sanitizer {

struct Stack {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  void* own = nullptr;  // the sanitizer's
};

/// A stack that begins at its top.
void begin(Stack& stack);
void before_switch(Stack& from, Stack& to, bool from_ends);
void after_switch(Stack& from, Stack& to);
/// What was done before leave(place) comes before what is done after meet(place).
void leave(void* place);
void meet(void* place);
/// Whether kernels may touch these bytes.
void forbid(void* memory, std::size_t bytes);
void allow(void* memory, std::size_t bytes);

}  // namespace cuda_on_cpu::sanitizer
