// A folder that is made: who makes it has it.
#pragma once

#include <filesystem>

namespace larmor {

/// Mode 0700. False when it was there: of several processes, on one host or on many, one makes it. Throws
/// Error (environment), also where the name is a file's. What lies above has to be there.
bool create_folder(const std::filesystem::path& folder);

}  // namespace larmor
