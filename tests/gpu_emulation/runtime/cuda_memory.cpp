// The runtime's functions about memory.
#include <cstdlib>
#include <iterator>

#include "tests/gpu_emulation/runtime/capture.h"
#include "tests/gpu_emulation/runtime/process.h"

using namespace emulated;

namespace {

constexpr size_t page = 4096;

/// The driver waits for all devices before it takes memory back.
void synchronize_all_devices() {
  for (size_t device = 0; device < process().devices.size(); ++device)
    synchronize_device(static_cast<int>(device));
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  if (const auto status = enter(current_device()); status != cudaSuccess) return answer(status);
  if (const auto status = check_thread("cudaMalloc"); status != cudaSuccess) return status;
  ++counters().allocations;
  auto& all = process();
  const std::lock_guard lock(all.mutex);
  const size_t length = DeviceMemory::granules(bytes);
  *pointer = nullptr;
  if (!all.take_bytes(current_device(), length)) return answer(cudaErrorMemoryAllocation);
  *pointer = all.memory.take(current_device(), bytes);
  if (*pointer != nullptr) return cudaSuccess;
  all.devices[static_cast<size_t>(current_device())].used -= length;
  return answer(cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) return answer(enter(current_device()));  // programs make a context so
  if (!is_device_address(pointer)) return answer(cudaErrorInvalidValue);
  if (const auto status = check_thread("cudaFree"); status != cudaSuccess) return status;
  auto& all = process();
  const int owner = all.memory.device_of(pointer);
  synchronize_device(owner);
  const std::lock_guard lock(all.mutex);
  const size_t length = all.memory.release(pointer);
  if (length == 0) return answer(cudaErrorInvalidValue);
  all.forget(pointer, length);
  all.devices[static_cast<size_t>(owner)].used -= length;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  if (const auto status = enter(current_device()); status != cudaSuccess) return answer(status);
  const std::lock_guard lock(process().mutex);
  const Device& device = process().devices[static_cast<size_t>(current_device())];
  *total = device.card.bytes;
  *free = device.used < *total ? *total - device.used : 0;
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  if (const auto status = enter(current_device()); status != cudaSuccess) return answer(status);
  if (const auto status = check_thread("cudaHostAlloc"); status != cudaSuccess) return status;
  if (posix_memalign(pointer, page, bytes == 0 ? 1 : bytes) != 0) return answer(cudaErrorMemoryAllocation);
  const std::lock_guard lock(process().mutex);
  process().pinned[reinterpret_cast<uintptr_t>(*pointer)] = {bytes, /*is_ours=*/true};
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* pointer) {
  if (const auto status = check_thread("cudaFreeHost"); status != cudaSuccess) return status;
  synchronize_all_devices();
  const std::lock_guard lock(process().mutex);
  if (process().pinned.erase(reinterpret_cast<uintptr_t>(pointer)) == 0) return answer(cudaErrorInvalidValue);
  std::free(pointer);
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
  const std::lock_guard lock(process().mutex);
  process().pinned[reinterpret_cast<uintptr_t>(pointer)] = {bytes, /*is_ours=*/false};
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* pointer) {
  const std::lock_guard lock(process().mutex);
  const bool was_there = process().pinned.erase(reinterpret_cast<uintptr_t>(pointer)) != 0;
  return was_there ? cudaSuccess : answer(cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  *attributes = {};
  attributes->type = cudaMemoryTypeUnregistered;
  attributes->device = cudaInvalidDeviceId;
  auto* const address = const_cast<void*>(pointer);
  if (is_device_address(pointer)) {
    attributes->type = cudaMemoryTypeDevice;
    attributes->device = process().memory.device_of(pointer);
    attributes->devicePointer = address;
  } else if (is_pinned(pointer)) {
    attributes->type = cudaMemoryTypeHost;
    attributes->device = current_device();
    attributes->devicePointer = attributes->hostPointer = address;
  }
  return cudaSuccess;
}
}
