// The runtime's functions about errors.
#include <algorithm>
#include <array>
#include <utility>

#include "tests/gpu_emulation/runtime/process.h"

namespace {

struct Words {
  cudaError_t error;
  const char *name, *text;
};

constexpr std::array known{
    Words{cudaSuccess, "cudaSuccess", "no error"},
    Words{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    Words{cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    Words{cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    Words{cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    Words{cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    Words{cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    Words{cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    Words{cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    Words{cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    Words{cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    Words{cudaErrorIllegalState, "cudaErrorIllegalState",
          "the operation cannot be performed in the present state"},
    Words{cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
          "operation not permitted when stream is capturing"},
    Words{cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
          "operation failed due to a previous error during capture"},
    Words{cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
          "dependency created on uncaptured work in another stream"},
    Words{cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
          "operation not permitted on an event last recorded in a capturing stream"},
    Words{cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread",
          "attempt to terminate a thread-local capture sequence from another thread"},
    Words{cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const Words& words_of(cudaError_t error) {
  const auto* const found =
      std::find_if(known.begin(), known.end(), [&](const Words& each) { return each.error == error; });
  return found == known.end() ? known.back() : *found;
}

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() { return std::exchange(emulated::last_error(), cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return emulated::last_error(); }
const char* cudaGetErrorName(cudaError_t error) { return words_of(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return words_of(error).text; }
}
