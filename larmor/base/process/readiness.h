// Waiting for descriptors without spinning where that fails.
#pragma once

#include <chrono>
#include <span>

#include <poll.h>

namespace larmor {

/// Blocks until one of them is ready, which `revents` says, a signal has come, or for `limit`; a negative one
/// is for ever. Whether one is ready. Throws Error (environment) where the system cannot wait: a loop around
/// it would take a core for nothing.
bool wait_for_any(std::span<pollfd> watched, std::chrono::milliseconds limit);

}  // namespace larmor
