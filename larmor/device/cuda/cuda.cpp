#include "larmor/device/cuda/cuda.h"

#include <cstdlib>
#include <mutex>

#include <ATen/Context.h>
#include <ATen/native/cuda/Resize.h>
#include <c10/core/AllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "larmor/base/text.h"
#include "larmor/device/device.h"

namespace larmor::cuda {

namespace {
c10::DeviceIndex narrow(int index) { return static_cast<c10::DeviceIndex>(index); }
constexpr auto aggregate = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);

/// Whether the driver gives memory pages apart from addresses: some virtual GPUs cannot.
bool maps_memory() {
  using Ask = int (*)(int* value, int attribute, int device);
  constexpr int virtual_memory_management = 102;  // CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY);
  const auto ask = driver == nullptr ? nullptr : reinterpret_cast<Ask>(dlsym(driver, "cuDeviceGetAttribute"));
  if (ask == nullptr) return false;
  for (int index = 0; index < c10::cuda::device_count(); ++index) {
    int answer = 0;
    if (ask(&answer, virtual_memory_management, index) != 0 || answer != 1) return false;
  }
  return true;
}

/// Of a library that the program was linked to, or that one of those brought; nullptr where there is none.
template <class Function>
Function loaded_function(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

/// 12040 as "12.4".
std::string version_of(int number) { return text(number / 1000, ".", number % 1000 / 10); }

/// A segment of the allocator that grows leaves no pieces behind that nothing fits in. Who has set the
/// allocator's variable has chosen.
void let_segments_grow() {
  if (std::getenv("PYTORCH_CUDA_ALLOC_CONF") != nullptr || std::getenv("PYTORCH_ALLOC_CONF") != nullptr)
    return;
  if (maps_memory()) c10::CachingAllocator::setAllocatorSettings("expandable_segments:True");
}

/// NVML lists GPUs, and CUDA none.
GpuObstacle unseen() {
  const auto file = closed_device_file("/");
  if (!file.empty())
    return {.why = text("their files cannot be opened: ", file),
            .remedy = "ask the scheduler for GPUs, or the administrator who may open /dev/nvidia*"};
  return {.why = "CUDA sees none of them", .remedy = "look at CUDA_VISIBLE_DEVICES"};
}

}  // namespace

bool is_usable() { return c10::cuda::device_count() > 0; }

std::optional<GpuObstacle> obstacle() {
  int devices = 0, of_driver = 0, of_runtime = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess && devices > 0) return std::nullopt;
  if (status != cudaSuccess) cudaGetLastError();  // it would be told at the next launch
  C10_CUDA_CHECK_WARN(cudaDriverGetVersion(&of_driver));
  C10_CUDA_CHECK_WARN(cudaRuntimeGetVersion(&of_runtime));
  if (of_driver == 0)
    return GpuObstacle{
        .why = "no driver of NVIDIA's answers (libcuda.so.1)",
        .remedy = "install the driver; in a container, give it the GPUs (docker run --gpus all)"};
  if (status == cudaErrorInsufficientDriver)
    return GpuObstacle{
        .why = text("their driver is of CUDA ", version_of(of_driver), " and this build of CUDA ",
                    version_of(of_runtime)),
        .remedy =
            "install a newer driver (580 or later is of CUDA 13), or build with a libtorch of the "
            "driver's CUDA (LARMOR_LIBTORCH)"};
  if (status == cudaSuccess || status == cudaErrorNoDevice) return unseen();
  return GpuObstacle{.why = text("CUDA does not start: ", cudaGetErrorString(status)),
                     .remedy = "nvidia-smi and the kernel's log (dmesg) say more"};
}

LibraryVersions library_versions() {
  int cuda = 0;
  C10_CUDA_CHECK_WARN(cudaRuntimeGetVersion(&cuda));
  LibraryVersions versions{.libtorch = "", .cuda = version_of(cuda), .cudnn = "", .nccl = ""};
  const auto of_three = [](int number) {
    return text(number / 10000, ".", number % 10000 / 100, ".", number % 100);
  };
  if (const auto ask = loaded_function<size_t (*)()>("cudnnGetVersion"))
    versions.cudnn = of_three(static_cast<int>(ask()));
  int nccl = 0;
  if (const auto ask = loaded_function<int (*)(int*)>("ncclGetVersion"); ask != nullptr && ask(&nccl) == 0)
    versions.nccl = of_three(nccl);
  return versions;
}

void use_device(int index) {
  at::globalContext().lazyInitDevice(c10::kCUDA);
  static std::once_flag is_chosen;  // for all threads and GPUs of the process
  std::call_once(is_chosen, let_segments_grow);
  c10::cuda::set_device(narrow(index));
}

void synchronize(int index) {
  const auto current = c10::cuda::current_device();
  c10::cuda::set_device(narrow(index));
  c10::cuda::device_synchronize();
  c10::cuda::set_device(current);
}

int64_t peak_bytes(int index) {
  return c10::cuda::CUDACachingAllocator::getDeviceStats(narrow(index)).allocated_bytes[aggregate].peak;
}

int64_t peak_reserved_bytes(int index) {
  return c10::cuda::CUDACachingAllocator::getDeviceStats(narrow(index)).reserved_bytes[aggregate].peak;
}

void reset_peak(int index) { c10::cuda::CUDACachingAllocator::resetPeakStats(narrow(index)); }

void release_cached_memory() { c10::cuda::CUDACachingAllocator::emptyCache(); }

void resize_bytes(c10::StorageImpl* storage, size_t bytes) { at::native::resize_bytes_cuda(storage, bytes); }

}  // namespace larmor::cuda
