// Taking away what this program has made, and nothing that somebody else has put beside it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace larmor {

class Storage;

/// What taking the folder away would free: of its files that no name outside of it has as well. Those that go
/// meanwhile, or cannot be looked at, count nothing.
uint64_t bytes_freed_by(const std::filesystem::path& folder);

/// A file or a link; a folder stays, since no file of ours has become one. Nothing where it is not there.
/// Throws Error (environment).
void remove_file(Storage& storage, const std::filesystem::path& path);

/// Takes out of `folder` the files and links that are ours, as `is_ours` says by their path within it, each
/// folder that is ours and empty by then, and last the folder itself. What else lies there stays, with the
/// folders around it. Links are not followed, and a `folder` that is none stays. Gives whether nothing is
/// left of it. Throws Error (environment).
bool remove_own(Storage& storage, const std::filesystem::path& folder,
                const std::function<bool(const std::filesystem::path& within)>& is_ours);

}  // namespace larmor
