#include "larmor/base/files/disk_room.h"

#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/process/descriptor.h"
#include "larmor/base/process/system_error.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

/// Of this user on the disk. A quota of a folder (a project's) is the free space that the disk itself tells;
/// a system without quotas, or one that tells nobody, has none.
std::optional<uint64_t> left_by_quota_of_user(const fs::path& folder) {
  const Descriptor place(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!place.is_open()) return std::nullopt;
  dqblk quota{};
  if (::syscall(SYS_quotactl_fd, place.number(), QCMD(Q_GETQUOTA, USRQUOTA), ::geteuid(), &quota) != 0)
    return std::nullopt;
  const uint64_t limits[] = {quota.dqb_bhardlimit, quota.dqb_bsoftlimit};
  // The soft limit is borne for days, so that the hard one counts where both are there.
  return left_by_quota(limits[0] != 0 ? limits[0] : limits[1], quota.dqb_curspace);
}

}  // namespace

std::optional<uint64_t> left_by_quota(uint64_t limit_kibibytes, uint64_t used_bytes) {
  constexpr uint64_t kibibyte = 1024;
  if (limit_kibibytes == 0) return std::nullopt;
  const auto limit = limit_kibibytes * kibibyte;
  return limit - std::min(limit, used_bytes);
}

std::optional<DiskRoom> disk_room(const fs::path& folder) {
  struct statvfs space{};
  struct stat status{};
  if (after_signals([&] { return ::statvfs(folder.c_str(), &space); }) != 0) return std::nullopt;
  if (::stat(folder.c_str(), &status) != 0) return std::nullopt;
  DiskRoom room{.free_bytes = uint64_t{space.f_bavail} * space.f_frsize, .disk = status.st_dev};
  if (const auto left = left_by_quota_of_user(folder); left && *left < room.free_bytes) {
    room.free_bytes = *left;
    room.is_quota = true;
  }
  return room;
}

fs::path nearest_existing(const fs::path& folder) {
  std::error_code problem;
  auto place = fs::absolute(folder, problem);
  while (!fs::exists(place, problem) && place.has_relative_path()) place = place.parent_path();
  return place;
}

std::optional<DiskRoom> disk_room_for(const fs::path& folder) { return disk_room(nearest_existing(folder)); }

}  // namespace larmor
