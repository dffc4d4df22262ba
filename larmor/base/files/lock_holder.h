// Who holds a FileLock, for people who only want to know.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace larmor {

class Descriptor;

/// What a holder has written into the open file of a FileLock.
std::string content_of_lock(const Descriptor& file);

/// What the holder of the FileLock on that file says of itself ("process 12 on host"); nothing where nobody
/// holds it, or where that cannot be asked. Takes the lock from nobody: FileLock tells
/// those who ask from a holder, and waits for them.
std::optional<std::string> lock_holder(const std::filesystem::path& path);

}  // namespace larmor
