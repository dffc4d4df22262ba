// Which build of a program is running: its version says it only from release to release.
#pragma once

#include <string>

namespace larmor {

/// The mark that the linker has given to the running program, in hexadecimal digits: another one after each
/// change of its code. Without such a mark, when its file was written and how large it is.
std::string build_id();

}  // namespace larmor
