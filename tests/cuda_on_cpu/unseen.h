// Copies and fills of the machine itself. ThreadSanitizer sees each call of memcpy() and memset(), also in
// sources that are not compiled for it, and would take them for accesses of a kernel.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuda_on_cpu {

inline void copy_unseen(void* to, const void* from, std::size_t bytes) {
  volatile auto* const target = static_cast<char*>(to);
  const volatile auto* const source = static_cast<const char*>(from);
  for (std::size_t i = 0; i < bytes; ++i) target[i] = source[i];
}

/// Fills with the byte 0xff. Requires: the memory begins at a multiple of eight bytes, or has fewer.
inline void fill_unseen(void* to, std::size_t bytes) {
  constexpr std::size_t word = sizeof(uint64_t);
  volatile auto* const words = static_cast<uint64_t*>(to);
  for (std::size_t i = 0; i < bytes / word; ++i) words[i] = ~uint64_t{0};
  volatile auto* const rest = static_cast<unsigned char*>(to);
  for (std::size_t i = bytes / word * word; i < bytes; ++i) rest[i] = 0xff;
}

}  // namespace cuda_on_cpu
