// What keeps a GPU that is there from computing for this program.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "larmor/hardware/hardware.h"

namespace larmor {

struct GpuObstacle {
  std::string why;  // as the end of a sentence
  std::string remedy;
};

/// Nothing for a GPU that can compute. Reads what `gpu` says and starts no CUDA.
std::optional<GpuObstacle> obstacle_of(const Gpu& gpu);

/// 75 for 7.5: the compute capabilities that this build's kernels are compiled for, ascending. They are
/// libtorch's as well, unless the build was configured with others.
const std::vector<int>& compiled_capabilities();

/// "GPU 0 (Tesla V100-SXM2-16GB) cannot compute here: it is divided into …"
std::string sentence_on(const Gpu& gpu, const GpuObstacle& obstacle);

/// "/dev/nvidiactl: Permission denied", of the first of the driver's device files below `root` that this
/// process cannot open; "" where all can be opened or there is none.
std::string closed_device_file(const std::filesystem::path& root);

}  // namespace larmor
