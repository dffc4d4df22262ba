// Which Larmor this is.
#pragma once

#include <string>

namespace larmor {

/// "0.1.0"; the number in the top CMakeLists.txt.
const char* version();

/// Says from which commit the program was built: "a8fde866fc87", "a8fde866fc87+changes". Its main() does,
/// before there are threads, so that a new commit compiles and links no library anew.
void set_commit(std::string commit);
/// "larmor 0.1.0 commit a8fde866fc87"; without the commit where nobody has said it.
std::string program_name();

}  // namespace larmor
