// What this layer asks of CUDA: cuda.cpp and cuda_graph.cpp where the build has it, no_cuda.cpp where not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace c10 {
struct StorageImpl;
}

namespace larmor {
class Graph;
struct GpuObstacle;
struct LibraryVersions;
}  // namespace larmor

namespace larmor::cuda {

bool is_usable();
std::optional<GpuObstacle> obstacle();
/// The versions of all but libtorch.
LibraryVersions library_versions();
void use_device(int index);
void synchronize(int index);
int64_t peak_bytes(int index);
int64_t peak_reserved_bytes(int index);
void reset_peak(int index);
void release_cached_memory();
void resize_bytes(c10::StorageImpl* storage, size_t bytes);
std::unique_ptr<Graph> record_graph(int index, const std::function<void()>& compute);
bool is_recording();

}  // namespace larmor::cuda
