// Anonymous memory that two processes see, and that neither can make shorter under the other.
#pragma once

#include <cstddef>
#include <span>

#include "larmor/base/descriptor.h"

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
  std::span<std::byte> view() const { return view_; }

 private:
  SharedMemory(Descriptor memory, std::size_t size);

  Descriptor memory_;
  std::span<std::byte> view_;
};

}  // namespace larmor
