// Where a process stands: its own stacks on request, and what the kernel says of one that does not answer.
#pragma once

#include <sys/types.h>

#include <string>

namespace larmor {

/// The signal that asks a rank for its stacks: SIGUSR2.
int stack_signal();

/// That signal makes every thread write its name, number and stack to stderr. A thread that does not answer
/// within a second is named with what the kernel says it waits for, and holds up no other. A second request
/// waits for the end of the first. Call once, early, from the main thread.
void dump_stacks_on_signal();

/// "stopped by a signal", "waiting for a disk or a network file system" (any of its threads), "running",
/// "sleeping", "ended".
std::string process_state(pid_t process);

}  // namespace larmor
