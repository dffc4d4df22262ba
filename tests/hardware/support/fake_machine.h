// A machine made of files: proc/, sys/ and dev/shm under a scratch folder, and an environment of its own.
#pragma once

#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/base/files/file.h"
#include "larmor/hardware/hardware.h"

namespace larmor::testing {

inline constexpr uint64_t gibibyte = uint64_t{1} << 30;

class FakeMachine {
 public:
  /// `cores` logical cores and 64 GiB of memory, no limits, no GPU.
  explicit FakeMachine(int cores);

  void write(const std::string& path, std::string_view content) const;
  /// Mounts control groups of version 2 with this process in `group`, and gives the folder of a group's
  /// files.
  void mount_version_2(const std::string& group) const;
  void mount_version_1(const std::string& group) const;

  Hardware detect() const { return detect_hardware(sources); }

  HardwareSources sources;
  std::map<std::string, std::string>& environment() { return *sources.environment; }

 private:
  ScratchFolder folder_;
};

bool has_note(const Hardware& hardware, std::string_view note);

}  // namespace larmor::testing
