// How much a disk still takes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace larmor {

struct DiskRoom {
  uint64_t free_bytes = 0;  // for this user
  bool is_quota = false;    // whether it is what a quota leaves, which is less than the disk has
  uint64_t disk = 0;        // folders with the same number share the room
};

/// The folder, or the first above it that is there: where it would be made.
std::filesystem::path nearest_existing(const std::filesystem::path& folder);
/// The room of the disk on which the folder lies, or what a quota leaves of it; nothing, and errno, where the
/// disk cannot be asked.
std::optional<DiskRoom> disk_room(const std::filesystem::path& folder);
/// The room of a folder that may have to be made yet: that of the first above it that is there.
std::optional<DiskRoom> disk_room_for(const std::filesystem::path& folder);

/// What a user has left who uses `used_bytes` of `limit_kibibytes`; nothing where there is no limit.
std::optional<uint64_t> left_by_quota(uint64_t limit_kibibytes, uint64_t used_bytes);

}  // namespace larmor
