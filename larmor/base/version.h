// Which Larmor this is.
#pragma once

namespace larmor {

/// "0.1.0"; the number in the top CMakeLists.txt.
const char* version();

}  // namespace larmor
