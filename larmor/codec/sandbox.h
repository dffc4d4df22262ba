// Takes from the calling process what a decoder has no need of: files, sockets, other processes.
#pragma once

#include <cstdint>

namespace larmor {

struct Sandbox {
  bool has_seccomp = false;
  uint32_t landlock_version = 0;  // of the kernel's interface; 0: it has none
};

/// Confines for good, and for the calling thread and those that it starts. From here on only memory, time and
/// descriptors that are open already can be used; everything else fails with EPERM or EACCES. Gives what the
/// kernel has.
Sandbox enter_sandbox();

}  // namespace larmor
