// A disk of a test's own: small, full or read-only.
#pragma once

#include <sys/mount.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace larmor::testing {

/// A file system in memory, of so many bytes, below the scratch folder. Only root can mount one.
class SmallDisk {
 public:
  SmallDisk(std::filesystem::path place, const std::string& options) : place_(std::move(place)) {
    std::filesystem::create_directories(place_);
    mounted_ = mount("tmpfs", place_.c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(place_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool is_there() const { return mounted_; }
  void make_read_only() const {
    ASSERT_EQ(mount("tmpfs", place_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr), 0);
  }
  /// Leaves so many pages of 4 KiB.
  void fill(size_t pages = 0) const {
    std::ofstream file(place_ / "ballast", std::ios::binary);
    const std::string block(4096, 'x');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
    const auto ballast = place_ / "ballast";
    std::filesystem::resize_file(ballast, std::filesystem::file_size(ballast) - pages * block.size());
  }
  void empty() const { std::filesystem::remove(place_ / "ballast"); }

 private:
  std::filesystem::path place_;
  bool mounted_ = false;
};

}  // namespace larmor::testing
