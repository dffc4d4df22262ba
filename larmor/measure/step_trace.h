// A trace of training steps for a browser (chrome://tracing, ui.perfetto.dev).
#pragma once

#include <filesystem>
#include <functional>

#include <c10/core/Device.h>

#include "larmor/base/files/storage.h"

namespace larmor {

/// Runs `work` and writes what its operators, its blocks (device/run_block.h) and, on a GPU, its kernels took
/// to `file`, an output as open_output() has it. Throws Error where it cannot be one, before the work is
/// done.
void trace(Storage& storage, const std::filesystem::path& file, c10::Device device,
           const std::function<void()>& work);

}  // namespace larmor
