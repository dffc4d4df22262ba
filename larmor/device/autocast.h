// Mixed precision for a stretch of code: forward runs inside, backward outside.
#pragma once

#include <array>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "larmor/plan/kinds.h"

namespace larmor {

/// fp32 and fp64 leave everything as it is; bf16 and fp16 turn autocast on for this thread until the end
/// of the scope. Leaving the outermost scope drops the cached weight casts: they would be stale after a step.
class AutocastScope {
 public:
  AutocastScope(c10::DeviceType device, Precision precision);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  c10::DeviceType device_;
  bool active_;
  bool was_enabled_ = false;
  bool was_cached_ = false;
  c10::ScalarType was_type_;
};

/// A thread's autocast as a value, for code that runs again later.
struct AutocastState {
  std::array<bool, 2> enabled{};  // on a CPU, on CUDA
  std::array<c10::ScalarType, 2> types{};
  bool keeps_casts = false;
  static AutocastState now();
};

/// Puts this thread back into `state` until the end of the scope.
class AutocastAgain {
 public:
  explicit AutocastAgain(const AutocastState& state);
  ~AutocastAgain();
  AutocastAgain(const AutocastAgain&) = delete;
  AutocastAgain& operator=(const AutocastAgain&) = delete;

 private:
  AutocastState outer_;
};

}  // namespace larmor
