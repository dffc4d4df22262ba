// A file of somebody else's, opened once: what it is, how long it is and what it holds come from one
// descriptor, so that nothing can be put in its place in between. A FIFO, a socket, a device or a folder is
// refused at once instead of waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/process/descriptor.h"

namespace larmor {

/// Thread-safe. None of its messages names the path, which is the caller's to add: naming().
class RegularFile {
 public:
  RegularFile(RegularFile&& other) noexcept = default;
  RegularFile& operator=(RegularFile&&) = delete;

  /// Bytes that there were when it was opened; 0 for files that do not say it, as those under /proc.
  uint64_t size() const { return size_; }
  int descriptor() const { return file_.number(); }
  /// Fills `to` with what lies from `offset` on and gives how many bytes there were: fewer than asked for at
  /// the end of the file only. Throws Error, with the exit that open_regular() was given.
  std::size_t read_at(uint64_t offset, std::span<std::byte> to) const;

 private:
  friend RegularFile open_regular(const std::filesystem::path& path, Exit exit);
  RegularFile(Descriptor file, uint64_t size, Exit exit) : file_(std::move(file)), size_(size), exit_(exit) {}

  Descriptor file_;
  uint64_t size_ = 0;
  Exit exit_ = Exit::data;
};

/// Opens for reading; links are followed. Throws Error (`exit`): absent, a link to nothing, a folder, FIFO,
/// socket or device, no permission. Blocks while another program gives up a lease of the file, at most five
/// seconds.
RegularFile open_regular(const std::filesystem::path& path, Exit exit = Exit::data);

/// open(2) of what is there, whoever has put it there. A FIFO is not waited for: reading one that nobody
/// writes succeeds, writing one that nobody reads is ENXIO. Of a file of which another program holds a lease
/// (a file server does) it asks for the lease to be given up, and tries for five seconds.
Descriptor open_without_waiting(const std::filesystem::path& path, int flags);

/// Runs `work` and puts the path before the message of an Error that it throws.
template <class Work>
auto naming(const std::filesystem::path& path, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw error.within(path.string());
  }
}

}  // namespace larmor
