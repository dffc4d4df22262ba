// What main() does first, in each of larmor's programs.
#pragma once

namespace larmor {

/// Makes three things that would end or mislead a program into errors of the call that meets them. A standard
/// descriptor that was closed is opened onto nothing, so that no file that is opened later becomes stdout;
/// what is written to such a stdout fails. Where nobody reads any more, and where a file would outgrow the
/// limit of its size (`ulimit -f`), writing fails with EPIPE and EFBIG in place of a signal. Programs that
/// are started find both signals as they were. How a child has ended is told also where whoever started this
/// program ignores that (SIGCHLD). A program that is killed by a fault leaves no core file, which would hold
/// voxels of patients and the ranks' key, unless LARMOR_CORE_FILES=1. Before there are threads.
void begin_program();

}  // namespace larmor
