// Whether the kernel has killed processes of ours because the memory of their control group ran out.
#pragma once

#include <cstdint>
#include <filesystem>

namespace larmor {

class MemoryKills {
 public:
  /// Counts from now on, in the control group of this process. `root` is where proc and sys are looked for.
  explicit MemoryKills(const std::filesystem::path& root = "/");
  /// Killed since then; 0 where nothing counts them.
  int64_t since_start() const;

 private:
  std::filesystem::path file_;
  int64_t before_ = 0;
};

}  // namespace larmor
