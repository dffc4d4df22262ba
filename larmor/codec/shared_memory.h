// Anonymous memory that two processes see, and that neither can make shorter under the other.
#pragma once

#include <cstddef>
#include <span>

namespace larmor {

class SharedMemory {
 public:
  /// Zeros. Its size is sealed. Throws Error (environment).
  static SharedMemory create(std::size_t size);
  /// What another process has created; takes the descriptor. Requires: `size` is the creator's. Throws Error
  /// (environment).
  static SharedMemory map(int descriptor, std::size_t size);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  int descriptor() const { return descriptor_; }
  std::span<std::byte> view() const { return view_; }

 private:
  SharedMemory(int descriptor, std::size_t size);

  int descriptor_ = -1;
  std::span<std::byte> view_;
};

}  // namespace larmor
