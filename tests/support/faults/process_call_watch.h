// Signals that this process sends to children that it has reaped before: the numbers may belong to somebody
// else by then. And children that cannot be started. Whoever links this library has the C library's kill,
// waitpid, waitid and posix_spawn replaced by functions that take notes.
#pragma once

#include <sys/types.h>

#include <vector>

namespace larmor::testing {

/// As kill() was given them since the last call, a group as a negative number. Signal 0, which only asks,
/// does not count, nor does a number that a later child of ours has been given.
std::vector<pid_t> signalled_after_reaping();

/// The next `count` calls of posix_spawn fail with `code`. Gives how many were refused since it was called
/// last.
int refuse_spawns(int count, int code);

}  // namespace larmor::testing
