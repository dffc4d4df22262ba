// A second name for a file's contents, at the cost of no second copy where the file system can.
#pragma once

#include <filesystem>

namespace larmor {

class Storage;

/// Makes `to` hold what `from` holds: as another link to the same file, as a clone that shares its blocks, or
/// as a copy. For files that nobody writes to any more. Replaces nothing: `to` must not be there. Blocks;
/// synced before it returns. Throws Error (environment).
void link_or_copy(Storage& storage, const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace larmor
