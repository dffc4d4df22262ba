// For x86-64.
#include "tests/cuda_on_cpu/fiber.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

// switch_stack(&own_stack, other_stack): keeps the registers that a call must keep, and nothing else.
extern "C" void cuda_on_cpu_switch_stack(void** own, void* other);
asm(R"(
.text
.globl cuda_on_cpu_switch_stack
.type cuda_on_cpu_switch_stack,@function
cuda_on_cpu_switch_stack:
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  retq
.size cuda_on_cpu_switch_stack,.-cuda_on_cpu_switch_stack
)");

namespace cuda_on_cpu {
namespace {

constexpr std::size_t fence_bytes = 4096, stack_bytes = std::size_t{128} << 10U;
constexpr int kept_registers = 6;
thread_local Fiber* running = nullptr;

}  // namespace

Fiber::Fiber()
    : memory_(static_cast<char*>(mmap(nullptr, fence_bytes + stack_bytes, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
  if (memory_ == MAP_FAILED || mprotect(memory_, fence_bytes, PROT_NONE) != 0) throw std::bad_alloc();
  stack_.bottom = memory_ + fence_bytes;
  stack_.bytes = stack_bytes;
}

Fiber::~Fiber() { munmap(memory_, fence_bytes + stack_bytes); }

void Fiber::start(const std::function<void()>& body) {
  sanitizer::begin(stack_);
  body_ = &body;
  has_ended_ = false;
  auto* top = reinterpret_cast<void**>(memory_ + fence_bytes + stack_bytes);
  *--top = nullptr;  // so that the stack lies as after a call
  *--top = reinterpret_cast<void*>(&Fiber::run);
  for (int kept = 0; kept < kept_registers; ++kept) *--top = nullptr;
  place_ = top;
}

void Fiber::resume() {
  running = this;
  sanitizer::before_switch(resumer_stack_, stack_, /*from_ends=*/false);
  cuda_on_cpu_switch_stack(&resumer_, place_);
  sanitizer::after_switch(stack_, resumer_stack_);
}

void Fiber::leave() {
  sanitizer::before_switch(stack_, resumer_stack_, has_ended_);
  cuda_on_cpu_switch_stack(&place_, resumer_);
  sanitizer::after_switch(resumer_stack_, stack_);
}

void Fiber::run() {
  Fiber& own = *running;
  sanitizer::after_switch(own.resumer_stack_, own.stack_);
  (*own.body_)();
  own.has_ended_ = true;
  own.leave();
  std::abort();
}

}  // namespace cuda_on_cpu
