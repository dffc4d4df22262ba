// What device.cpp asks of CUDA: cuda.cpp where the build has it, no_cuda.cpp where not.
#pragma once

#include <cstddef>
#include <cstdint>

namespace c10 {
struct StorageImpl;
}

namespace larmor::cuda {

bool is_usable();
void use_device(int index);
void synchronize(int index);
int64_t peak_bytes(int index);
int64_t peak_reserved_bytes(int index);
void reset_peak(int index);
void release_cached_memory();
void resize_bytes(c10::StorageImpl* storage, size_t bytes);

}  // namespace larmor::cuda
