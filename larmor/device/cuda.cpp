#include "larmor/device/cuda.h"

#include <ATen/Context.h>
#include <ATen/native/cuda/Resize.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

namespace larmor::cuda {

namespace {
c10::DeviceIndex narrow(int index) { return static_cast<c10::DeviceIndex>(index); }
}  // namespace

bool is_usable() { return c10::cuda::device_count() > 0; }

void use_device(int index) {
  at::globalContext().lazyInitDevice(c10::kCUDA);
  c10::cuda::set_device(narrow(index));
}

void synchronize(int index) {
  const auto current = c10::cuda::current_device();
  c10::cuda::set_device(narrow(index));
  c10::cuda::device_synchronize();
  c10::cuda::set_device(current);
}

int64_t peak_bytes(int index) {
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(narrow(index));
  constexpr auto aggregate = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return stats.allocated_bytes[aggregate].peak;
}

void reset_peak(int index) { c10::cuda::CUDACachingAllocator::resetPeakStats(narrow(index)); }

void release_cached_memory() { c10::cuda::CUDACachingAllocator::emptyCache(); }

void resize_bytes(c10::StorageImpl* storage, size_t bytes) { at::native::resize_bytes_cuda(storage, bytes); }

}  // namespace larmor::cuda
