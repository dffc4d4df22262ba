// Files that are whole or were never there. One way for all of them, but for checkpoints, which are folders
// (docs/decisions/0077).
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string_view>

namespace larmor {

class Storage;
class StorageFile;

/// A file of larmor's own. It is written under a name beside its own (temporary_name.h), and close() syncs
/// it, renames it over what is there, a link as much as a file, and syncs the folder: until then that stays
/// as it was. Destroyed without close(), and after any error, it leaves nothing. Borrows the storage.
std::unique_ptr<StorageFile> create_whole(Storage& storage, const std::filesystem::path& path,
                                          mode_t mode = 0600);

/// A file that a person has named, as create_whole(): a file that is replaced keeps its mode, and one that
/// may not be written stays. A link is followed, once and for all, and what it leads to is replaced, or made.
/// What is no file but takes bytes, a FIFO with a reader or a device of characters, gets them as they come,
/// so formats are written from front to back. Throws Error, usage for what can never be an output (a folder,
/// a socket, a disk, this program's own stdout), environment otherwise; it never waits for a reader.
std::unique_ptr<StorageFile> open_output(Storage& storage, const std::filesystem::path& path);

/// The whole content of such a file.
void write_output(Storage& storage, const std::filesystem::path& path, std::string_view content);

}  // namespace larmor
