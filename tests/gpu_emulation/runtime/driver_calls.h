// The driver's functions that libtorch asks for by name: those of virtual memory, for segments that grow, and
// the words for errors. Every other one refuses.
#pragma once

#include <string_view>

#include <cuda.h>

namespace emulated {

/// A function of the driver's interface.
void* driver_call(std::string_view name);
/// Cards have virtual memory unless EMULATED_VIRTUAL_MEMORY is 0: then its functions refuse, as on some
/// virtual GPUs. No fabric between hosts, no multicast.
CUresult attribute_of(int* value, CUdevice_attribute attribute, CUdevice device);

}  // namespace emulated
