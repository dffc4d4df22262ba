#include "larmor/watch/memory_kills.h"

#include <fstream>
#include <optional>
#include <string>

namespace larmor {
namespace {

namespace fs = std::filesystem;

/// The count on the line "oom_kill N".
std::optional<int64_t> killed_by(const fs::path& file) {
  std::ifstream stream(file);
  std::string word;
  int64_t count = 0;
  while (stream >> word >> count) {
    if (word == "oom_kill") return count;
  }
  return std::nullopt;
}

/// The control group that /proc/self/cgroup names for `controllers`, which is empty for version 2. A line
/// reads "4:memory:/group" or "0::/group".
std::optional<fs::path> group_of(const fs::path& root, const std::string& controllers) {
  std::ifstream groups(root / "proc/self/cgroup");
  const std::string wanted = ":" + controllers + ":/";
  for (std::string line; std::getline(groups, line);) {
    const size_t found = line.find(wanted);
    if (found != std::string::npos && found == line.find(':')) return line.substr(found + wanted.size());
  }
  return std::nullopt;
}

}  // namespace

MemoryKills::MemoryKills(const fs::path& root) {
  struct Hierarchy {
    std::string controllers;
    fs::path mount;
    std::string file;
  };
  const fs::path mount = root / "sys/fs/cgroup";
  // Where both are mounted, memory belongs to version 1.
  const Hierarchy hierarchies[] = {{"memory", mount / "memory", "memory.oom_control"},
                                   {"", mount, "memory.events"},
                                   {"", mount / "unified", "memory.events"}};
  for (const Hierarchy& hierarchy : hierarchies) {
    const auto group = group_of(root, hierarchy.controllers);
    if (!group) continue;
    // In a container the path may be the host's, and what is mounted is our own group.
    for (const fs::path& folder : {hierarchy.mount / *group, hierarchy.mount}) {
      const auto count = killed_by(folder / hierarchy.file);
      if (!count) continue;
      file_ = folder / hierarchy.file;
      before_ = *count;
      return;
    }
  }
}

int64_t MemoryKills::since_start() const {
  return file_.empty() ? 0 : killed_by(file_).value_or(before_) - before_;
}

}  // namespace larmor
