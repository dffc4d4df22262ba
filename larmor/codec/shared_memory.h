// Anonymous memory that two processes see, and that neither can make shorter under the other.
#pragma once

#include <cstddef>
#include <span>

#include "larmor/base/process/descriptor.h"

namespace larmor {

class SharedMemory {
 public:
  /// Zeros. Its size is sealed. Throws Error (environment).
  static SharedMemory create(std::size_t size);
  /// What another process has created. Requires: `size` is the creator's. Throws Error (environment).
  static SharedMemory map(Descriptor memory, std::size_t size);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  int descriptor() const { return memory_.number(); }
  bool is_open() const { return memory_.is_open(); }
  /// What has been mapped stays.
  void close_descriptor() { memory_.reset(); }
  std::span<std::byte> view() const { return view_; }
  /// Bytes from `begin` on. Where they are many, their memory goes back to the system piece by piece, so that
  /// they are never whole in both places.
  void move_out(std::size_t begin, std::span<std::byte> out);

 private:
  SharedMemory(Descriptor memory, std::size_t size);

  Descriptor memory_;
  std::span<std::byte> view_;
};

}  // namespace larmor
