// The way of words out of the program: results to stdout, everything else to stderr, foreign text escaped.
// Nothing else in app/ writes to either (tools/check_layers.py).
#pragma once

#include <string_view>

#include "larmor/base/printable.h"

namespace larmor::app {

/// Writes to stderr; whether it was taken.
bool say(const Lines& lines);
/// A message, bounded: one line, and one for each item() of it.
bool say(std::string_view message);
/// The end of a rank's log, where there is any.
void say_last_lines(std::string_view lines);
/// Writes to a descriptor, stdout or another: a rank's stdout and stderr are its log, and rank 0 has the
/// launcher's terminal besides. 0, or the errno of why not all of it was taken. Results go through Program,
/// which remembers that.
int write_to(int descriptor, const Lines& lines);

}  // namespace larmor::app
