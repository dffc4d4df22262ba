#include "larmor/hardware/control_group.h"

#include <algorithm>
#include <optional>
#include <string>

#include "larmor/base/text.h"
#include "larmor/hardware/kernel_file.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

struct Mount {
  fs::path group;  // the group that stands at the mount point: not "/" in a container
  fs::path point;
};

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// A line reads "31 23 0:28 /group /mount/point rw … - type source options".
std::optional<Mount> find_mount(std::string_view mountinfo, std::string_view type, std::string_view option) {
  for (const std::string& line : split(mountinfo, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 5 || words.end() - dash < 4) continue;
    if (dash[1] != type) continue;
    if (!option.empty() && !contains(split(dash[3], ','), option)) continue;
    return Mount{words[3], words[4]};
  }
  return std::nullopt;
}

/// The process's group in the hierarchy of `controller`, or of version 2 when `controller` is empty. A line
/// reads "4:cpu,cpuacct:/group" or "0::/group".
std::optional<fs::path> own_group(std::string_view groups, std::string_view controller) {
  for (const std::string& line : split(groups, '\n')) {
    const size_t first = line.find(':');
    if (first == std::string::npos) continue;
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool matches =
        controller.empty() ? controllers.empty() : contains(split(controllers, ','), controller);
    if (matches) return fs::path(line.substr(second + 1));
  }
  return std::nullopt;
}

std::vector<fs::path> folders_up_to_mount(const fs::path& root, const Mount& mount, const fs::path& group) {
  const fs::path top = root / mount.point.relative_path();
  // Seen from a container the group may lie outside of what is mounted ("/.." or the host's path): then
  // the mount point itself is the nearest group that can be read.
  fs::path below = group.lexically_relative(mount.group);
  if (below.empty() || below == "." || *below.begin() == "..") below.clear();
  std::vector<fs::path> folders;
  for (; !below.empty(); below = below.parent_path()) folders.push_back(top / below);
  folders.push_back(top);
  return folders;
}

}  // namespace

ControlGroup find_control_group(const fs::path& root, std::string_view controller) {
  const std::string mountinfo = read_kernel_file(root / "proc/self/mountinfo").value_or("");
  const std::string groups = read_kernel_file(root / "proc/self/cgroup").value_or("");
  // On a machine with both, a controller belongs to version 1 when it is mounted there.
  const auto old_mount = find_mount(mountinfo, "cgroup", controller);
  const auto old_group = own_group(groups, controller);
  if (old_mount && old_group) return {1, folders_up_to_mount(root, *old_mount, *old_group)};
  const auto mount = find_mount(mountinfo, "cgroup2", "");
  const auto group = own_group(groups, "");
  if (mount && group) return {2, folders_up_to_mount(root, *mount, *group)};
  return {};
}

}  // namespace larmor
