// A function on a stack of its own, which changes places with whoever resumes it.
#pragma once

#include <cstddef>
#include <functional>

#include "tests/cuda_on_cpu/sanitizer.h"

namespace cuda_on_cpu {

/// Of one thread of the process.
class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// From the beginning at the next resume(), wherever it was. Borrows the body, which throws nothing.
  void start(const std::function<void()>& body);
  /// Comes back when the body has called leave() or has ended.
  void resume();
  /// Within the body.
  void leave();
  bool has_ended() const { return has_ended_; }

 private:
  static void run();

  char* memory_;
  void* place_ = nullptr;  // of the stack's pointer while it does not run
  void* resumer_ = nullptr;
  sanitizer::Stack stack_, resumer_stack_;
  const std::function<void()>* body_ = nullptr;
  bool has_ended_ = true;
};

}  // namespace cuda_on_cpu
