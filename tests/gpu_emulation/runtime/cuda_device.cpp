// The runtime's functions about devices.
#include <cstdio>
#include <cstring>
#include <string>

#include "tests/gpu_emulation/runtime/capture.h"
#include "tests/gpu_emulation/runtime/process.h"

using namespace emulated;

namespace {

constexpr int runtime_version = 13000;

/// EMULATED_DRIVER_CUDA=12040: the driver is one of CUDA 12.4; 0: there is none.
int driver_version_of_cuda() {
  return static_cast<int>(read_number("EMULATED_DRIVER_CUDA", runtime_version));
}

bool is_device(int device) { return device >= 0 && device < static_cast<int>(process().devices.size()); }

const Card& card_of(int device) { return process().devices[static_cast<size_t>(device)].card; }

void fill_limits(cudaDeviceProp& properties) {
  constexpr int most_threads = 1024, most_blocks = 65535;
  properties.warpSize = 32;
  properties.maxThreadsPerBlock = most_threads;
  properties.maxThreadsPerMultiProcessor = 2 * most_threads;
  properties.maxBlocksPerMultiProcessor = 32;
  properties.maxThreadsDim[0] = properties.maxThreadsDim[1] = most_threads;
  properties.maxThreadsDim[2] = 64;
  properties.maxGridSize[0] = 2147483647;
  properties.maxGridSize[1] = properties.maxGridSize[2] = most_blocks;
  properties.sharedMemPerBlock = 48 * 1024;
  properties.sharedMemPerBlockOptin = 227 * 1024;
  properties.sharedMemPerMultiprocessor = 228 * 1024;
  properties.regsPerBlock = properties.regsPerMultiprocessor = 64 * 1024;
  properties.totalConstMem = 64 * 1024;
  properties.memPitch = 2147483647;
  properties.textureAlignment = 512;
  properties.l2CacheSize = static_cast<int>(50 * mebibyte);
  properties.memoryBusWidth = 5120;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  load_operators();
  *count = 0;
  if (driver_version_of_cuda() < runtime_version) return answer(cudaErrorInsufficientDriver);
  *count = static_cast<int>(process().devices.size());
  return *count == 0 ? answer(cudaErrorNoDevice) : cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  load_operators();
  *device = current_device();
  return process().devices.empty() ? answer(cudaErrorNoDevice) : cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (const auto status = enter(device); status != cudaSuccess) return answer(status);
  current_device() = device;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  if (const auto status = enter(current_device()); status != cudaSuccess) return answer(status);
  if (const auto status = check_device("cudaDeviceSynchronize"); status != cudaSuccess) return status;
  note_call(/*is_wait=*/true);
  ++counters().host_waits;
  synchronize_device(current_device());
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = driver_version_of_cuda();
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = runtime_version;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!is_device(device)) return answer(cudaErrorInvalidDevice);
  const Card& card = card_of(device);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "%s", card.name.c_str());
  properties->uuid.bytes[0] = static_cast<char>(card.bus());  // as Card::uuid() writes it
  properties->uuid.bytes[6] = 0x40;
  properties->uuid.bytes[8] = static_cast<char>(0x80);
  properties->totalGlobalMem = card.bytes;
  properties->major = card.major;
  properties->minor = card.minor;
  properties->multiProcessorCount = card.multiprocessors;
  properties->pciBusID = static_cast<int>(card.bus());
  fill_limits(*properties);
  properties->asyncEngineCount = 3;
  properties->concurrentKernels = properties->unifiedAddressing = properties->canMapHostMemory = 1;
  properties->cooperativeLaunch = properties->streamPrioritiesSupported = properties->ECCEnabled = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp properties;
  if (const auto status = cudaGetDeviceProperties(&properties, device); status != cudaSuccess) return status;
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      *value = properties.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = properties.minor;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = properties.multiProcessorCount;
      break;
    case cudaDevAttrMaxThreadsPerBlock:
      *value = properties.maxThreadsPerBlock;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(properties.sharedMemPerBlockOptin);
      break;
    case cudaDevAttrUnifiedAddressing:
      *value = properties.unifiedAddressing;
      break;
    default:
      *value = 0;
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (!is_device(device)) return answer(cudaErrorInvalidDevice);
  constexpr size_t long_domain = 4;  // digits that NVML writes and CUDA does not
  std::snprintf(text, static_cast<size_t>(length), "%s", card_of(device).pci_address().c_str() + long_domain);
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  constexpr int most_urgent = -5;
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = most_urgent;
  return cudaSuccess;
}
}
