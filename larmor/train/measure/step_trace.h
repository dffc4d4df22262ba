// A trace of training steps for a browser (chrome://tracing, ui.perfetto.dev).
#pragma once

#include <filesystem>
#include <functional>

#include <c10/core/Device.h>

namespace larmor {

/// Runs `work` and writes what its operators, its blocks (device/run_block.h) and, on a GPU, its kernels took
/// to `file`. Throws Error (environment) where the file cannot be written.
void trace(const std::filesystem::path& file, c10::Device device, const std::function<void()>& work);

}  // namespace larmor
