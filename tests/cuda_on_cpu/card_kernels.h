// Larmor's operators by the kernels of cards, which run on the CPU.
#pragma once

#include <memory>

#include "tests/cuda_on_cpu/order.h"

namespace cuda_on_cpu {

/// While one lives, each operator of Larmor's that has a function for GPUs computes tensors of the CPU by it,
/// in this order of threads. Memory that it allocates holds NaN until it is written. One at a time.
class CardKernels {
 public:
  explicit CardKernels(Order order);
  ~CardKernels();
  CardKernels(const CardKernels&) = delete;
  CardKernels& operator=(const CardKernels&) = delete;

 private:
  struct Registrations;
  std::unique_ptr<Registrations> registrations_;
};

}  // namespace cuda_on_cpu
