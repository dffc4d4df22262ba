#include "larmor/base/error.h"
#include "larmor/device/cuda/cuda.h"
#include "larmor/device/cuda/graph.h"
#include "larmor/device/device.h"

namespace larmor::cuda {

namespace {
[[noreturn]] void absent() {
  fail(Exit::usage, "this build of larmor has no CUDA",
       "build it by script/build --cuda, or say parallel.device=cpu");
}
}  // namespace

bool is_usable() { return false; }
std::optional<GpuObstacle> obstacle() {
  return GpuObstacle{.why = "this build of larmor has no CUDA", .remedy = "build it by script/build --cuda"};
}
LibraryVersions library_versions() { return {}; }
void use_device(int) { absent(); }
void synchronize(int) { absent(); }
int64_t peak_bytes(int) { absent(); }
int64_t peak_reserved_bytes(int) { absent(); }
void reset_peak(int) { absent(); }
void release_cached_memory() { absent(); }
void resize_bytes(c10::StorageImpl*, size_t) { absent(); }
std::unique_ptr<Graph> record_graph(int, const std::function<void()>&) { absent(); }
bool is_recording() { return false; }

}  // namespace larmor::cuda
