// The driver's library (libcuda.so.1), which libtorch opens to ask whether a device is in use, and Larmor to
// ask what it can do. The rest of its functions end the process by their names (stubs.cmake).
#include <cuda.h>

#include "tests/gpu_emulation/runtime/driver_calls.h"
#include "tests/gpu_emulation/runtime/runtime.h"

extern "C" {

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  *flags = 0;
  *active = emulated::has_context(device) ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return emulated::attribute_of(value, attribute, device);
}

CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "not there on an emulated GPU";
  return CUDA_SUCCESS;
}
}
