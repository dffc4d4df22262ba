// Memory, shared memory and disk: what the machine has and what this job may take of it.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>

#include "larmor/base/files/disk_room.h"
#include "larmor/base/text.h"
#include "larmor/hardware/control_group.h"
#include "larmor/hardware/kernel_file.h"
#include "larmor/hardware/probes.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t unlimited = std::numeric_limits<uint64_t>::max();

uint64_t kibibytes(std::string_view meminfo, std::string_view key) {
  const std::vector<std::string> words = split(table_value(meminfo, key), ' ');
  return static_cast<uint64_t>(
             std::max<int64_t>(whole_number(words.empty() ? "" : words[0]).value_or(0), 0)) *
         1024;
}

uint64_t bytes_in(const fs::path& path, uint64_t otherwise) {
  const auto number = whole_number(read_kernel_file(path).value_or(""));  // "max" is no number
  return number && *number >= 0 ? static_cast<uint64_t>(*number) : otherwise;
}

/// What the group holds and cannot give back at once; file pages that nobody uses can be.
uint64_t used_in(const fs::path& folder, int version) {
  const uint64_t used = bytes_in(folder / (version == 2 ? "memory.current" : "memory.usage_in_bytes"), 0);
  const std::string statistics = read_kernel_file(folder / "memory.stat").value_or("");
  const std::string key = version == 2 ? "inactive_file " : "total_inactive_file ";
  for (const std::string& line : split(statistics, '\n')) {
    if (!line.starts_with(key)) continue;
    const int64_t idle = whole_number(std::string_view(line).substr(key.size())).value_or(0);
    return used - std::min(used, static_cast<uint64_t>(std::max<int64_t>(idle, 0)));
  }
  return used;
}

void apply_control_group(const fs::path& root, Hardware& hardware) {
  const ControlGroup group = find_control_group(root, "memory");
  bool is_limited = false;
  for (const fs::path& folder : group.folders) {
    const uint64_t limit =
        bytes_in(folder / (group.version == 2 ? "memory.max" : "memory.limit_in_bytes"), unlimited);
    if (limit >= hardware.memory_bytes) continue;
    is_limited = true;
    hardware.memory_limit_bytes = std::min(hardware.memory_limit_bytes, limit);
    const uint64_t room = limit - std::min(limit, used_in(folder, group.version));
    hardware.memory_available_bytes = std::min(hardware.memory_available_bytes, room);
  }
  if (!is_limited) return;
  hardware.notes.push_back(text("cgroup v", group.version, ": ", human_bytes(hardware.memory_limit_bytes),
                                " of ", human_bytes(hardware.memory_bytes), " memory"));
}

}  // namespace

void probe_memory(const Surroundings& surroundings, Hardware& hardware) {
  const fs::path& root = surroundings.sources.root;
  const std::string meminfo = read_kernel_file(root / "proc/meminfo").value_or("");
  hardware.memory_bytes = kibibytes(meminfo, "MemTotal");
  hardware.memory_limit_bytes = hardware.memory_bytes;
  hardware.memory_available_bytes = kibibytes(meminfo, "MemAvailable");
  apply_control_group(root, hardware);
  std::error_code problem;
  const fs::space_info shared = fs::space(root / "dev/shm", problem);
  hardware.shm_bytes = problem ? 0 : shared.available;
  const auto room = disk_room_for(surroundings.sources.run_folder);
  hardware.disk_free_bytes = room ? room->free_bytes : 0;
}

}  // namespace larmor
