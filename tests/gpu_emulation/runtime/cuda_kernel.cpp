// The runtime's functions about kernels: libtorch registers its own, and none of them can run. An operator
// that reaches one is not emulated, and says so.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>

#include <cxxabi.h>

#include "tests/gpu_emulation/runtime/driver_calls.h"
#include "tests/gpu_emulation/runtime/process.h"

using namespace emulated;

namespace {

/// The names of kernels, by the functions that stand for them.
std::unordered_map<const void*, const char*>& kernels() {
  static auto* const all = new std::unordered_map<const void*, const char*>;
  return *all;
}

cudaError_t refuse_kernel(const void* function) {
  const auto found = kernels().find(function);
  const char* const name = found == kernels().end() ? "unknown" : found->second;
  int status = 0;
  char* const readable = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::fprintf(stderr, "emulated GPU: a kernel of libtorch was launched, which cannot run: %.400s\n",
               readable != nullptr ? readable : name);
  std::free(readable);
  return answer(cudaErrorNotSupported);
}

struct Launch {
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
};

Launch& launch() {
  thread_local Launch own;
  return own;
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}

void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {
  kernels().emplace(function, name);
}

void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
char __cudaInitModule(void**) { return 0; }

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  launch() = {grid, block, shared, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  *grid = launch().grid;
  *block = launch().block;
  *shared = launch().shared;
  *static_cast<cudaStream_t*>(stream) = launch().stream;
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3, dim3, void**, size_t, cudaStream_t) {
  return refuse_kernel(kernel);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void* function, void**) {
  return refuse_kernel(function);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  attributes->binaryVersion = attributes->ptxVersion = 90;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int, size_t,
                                                                   unsigned) {
  *blocks = 2;
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  *function = driver_call(name);
  if (result != nullptr) *result = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
}
