// The control groups that hold this process: where the kernel keeps a container's and a job's limits.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace larmor {

struct ControlGroup {
  int version = 0;                             // 1 or 2; 0 = the controller is not mounted
  std::vector<std::filesystem::path> folders;  // this process's group first, then its parents up to the mount
};

/// `controller` is "cpu" or "memory". A limit of any of the folders holds for the process.
ControlGroup find_control_group(const std::filesystem::path& root, std::string_view controller);

}  // namespace larmor
