#include "tests/gpu_emulation/runtime/driver_calls.h"

#include <array>
#include <cstdio>
#include <utility>

#include "tests/gpu_emulation/runtime/fault.h"
#include "tests/gpu_emulation/runtime/process.h"

namespace emulated {
namespace {

/// Memory of a card that has no address yet.
struct Physical {
  int device;
  size_t bytes;
};

Physical& physical(CUmemGenericAllocationHandle handle) { return *reinterpret_cast<Physical*>(handle); }

CUresult explain_error(CUresult, const char** text) {
  *text = "refused by an emulated GPU";
  return CUDA_SUCCESS;
}

CUresult refuse() { return CUDA_ERROR_NOT_SUPPORTED; }

CUresult device_get(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}

bool has_virtual_memory() { return read_number("EMULATED_VIRTUAL_MEMORY", 1) != 0; }

CUresult reserve_addresses(CUdeviceptr* pointer, size_t bytes, size_t, CUdeviceptr, unsigned long long) {
  if (!has_virtual_memory()) return CUDA_ERROR_NOT_SUPPORTED;
  if (enter(current_device()) != cudaSuccess) return CUDA_ERROR_UNKNOWN;
  const std::lock_guard lock(process().mutex);
  *pointer = reinterpret_cast<CUdeviceptr>(process().memory.reserve(current_device(), bytes));
  return *pointer == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult free_addresses(CUdeviceptr pointer, size_t) {
  const std::lock_guard lock(process().mutex);
  process().memory.release(reinterpret_cast<void*>(pointer));
  return CUDA_SUCCESS;
}

CUresult create_memory(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* wanted,
                       unsigned long long) {
  const int owner = wanted->location.id;
  if (enter(owner) != cudaSuccess) return CUDA_ERROR_UNKNOWN;
  ++counters().allocations;
  const std::lock_guard lock(process().mutex);
  if (!process().take_bytes(owner, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = reinterpret_cast<CUmemGenericAllocationHandle>(new Physical{owner, bytes});
  return CUDA_SUCCESS;
}

CUresult release_memory(CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(process().mutex);
  process().devices[static_cast<size_t>(physical(handle).device)].used -= physical(handle).bytes;
  delete &physical(handle);
  return CUDA_SUCCESS;
}

CUresult map_memory(CUdeviceptr pointer, size_t bytes, size_t, CUmemGenericAllocationHandle,
                    unsigned long long) {
  const std::lock_guard lock(process().mutex);
  const bool is_mapped = process().memory.put_pages(reinterpret_cast<void*>(pointer), bytes);
  return is_mapped ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult allow_access(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) { return CUDA_SUCCESS; }

CUresult unmap_memory(CUdeviceptr pointer, size_t bytes) {
  const std::lock_guard lock(process().mutex);
  process().memory.drop_pages(reinterpret_cast<void*>(pointer), bytes);
  process().forget(reinterpret_cast<void*>(pointer), bytes);
  return CUDA_SUCCESS;
}

template <class Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

CUresult attribute_of(int* value, CUdevice_attribute attribute, CUdevice) {
  *value =
      attribute == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED && has_virtual_memory() ? 1 : 0;
  return CUDA_SUCCESS;
}

void* driver_call(std::string_view name) {
  const std::array<std::pair<std::string_view, void*>, 10> known{{
      {"cuGetErrorString", address_of(explain_error)},
      {"cuDeviceGet", address_of(device_get)},
      {"cuDeviceGetAttribute", address_of(attribute_of)},
      {"cuMemAddressReserve", address_of(reserve_addresses)},
      {"cuMemAddressFree", address_of(free_addresses)},
      {"cuMemCreate", address_of(create_memory)},
      {"cuMemRelease", address_of(release_memory)},
      {"cuMemMap", address_of(map_memory)},
      {"cuMemSetAccess", address_of(allow_access)},
      {"cuMemUnmap", address_of(unmap_memory)},
  }};
  for (const auto& [word, function] : known) {
    if (word == name) return function;
  }
  return address_of(refuse);
}

}  // namespace emulated
