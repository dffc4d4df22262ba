#include "larmor/hardware/gpu_obstacle.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>

#include "larmor/base/process/descriptor.h"
#include "larmor/base/text.h"
#include "larmor/hardware/kernel_file.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

std::string version_of(int capability) { return text(capability / 10, ".", capability % 10); }

/// Machine code runs on later cards of its own generation. Code of the newest generation is there in a form
/// that the driver translates for all later ones.
bool has_code(int major, int minor) {
  const auto& compiled = compiled_capabilities();
  const int asked = major * 10 + minor;
  if (asked >= compiled.back()) return true;
  return std::ranges::any_of(compiled, [&](int each) { return each / 10 == major && each <= asked; });
}

std::string all_compiled() {
  std::vector<std::string> versions;
  for (const int each : compiled_capabilities()) versions.push_back(version_of(each));
  return join(versions, ", ");
}

}  // namespace

std::string sentence_on(const Gpu& gpu, const GpuObstacle& obstacle) {
  const auto name = gpu.name.empty() ? "" : text(" (", gpu.name, ")");
  return text("GPU ", gpu.index, name, " cannot compute here: ", obstacle.why);
}

std::optional<GpuObstacle> obstacle_of(const Gpu& gpu) {
  const bool is_known = gpu.capability_major > 0;
  if (is_known && !has_code(gpu.capability_major, gpu.capability_minor)) {
    return GpuObstacle{
        .why = text("it is of compute capability ", gpu.capability_major, ".", gpu.capability_minor,
                    ", for which this build has no code: it has ", all_compiled()),
        .remedy =
            "build with a libtorch that has code for it (LARMOR_LIBTORCH) and with "
            "-DLARMOR_CUDA_ARCHITECTURES"};
  }
  if (gpu.is_sliced) {
    return GpuObstacle{.why = "it is divided into MIG instances, on which larmor does not train",
                       .remedy = text("nvidia-smi -i ", gpu.index, " -mig 0, as its administrator")};
  }
  if (gpu.compute_mode == ComputeMode::prohibited) {
    return GpuObstacle{.why = "its compute mode is prohibited",
                       .remedy = text("nvidia-smi -i ", gpu.index, " -c DEFAULT, as its administrator")};
  }
  if (gpu.compute_mode == ComputeMode::exclusive && gpu.processes > 0) {
    return GpuObstacle{.why = "its compute mode is exclusive, and another process holds it",
                       .remedy =
                           "wait for that process, which nvidia-smi lists, or choose another GPU by "
                           "CUDA_VISIBLE_DEVICES"};
  }
  return std::nullopt;
}

const std::vector<int>& compiled_capabilities() {
  static const std::vector<int> all = [] {
    std::vector<int> numbers{LARMOR_CUDA_ARCHITECTURES};
    std::ranges::sort(numbers);
    return numbers;
  }();
  return all;
}

std::string closed_device_file(const fs::path& root) {
  std::vector<fs::path> files;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(root / "dev", absent)) {
    const std::string name = entry.path().filename();
    if (name == "nvidiactl" || (name.starts_with("nvidia") && whole_number(name.substr(6))))
      files.push_back(entry);
  }
  std::ranges::sort(files);
  for (const auto& file : files) {
    const Descriptor opened(::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!opened.is_open()) return text(file.string(), ": ", std::strerror(errno));
  }
  return "";
}

}  // namespace larmor
