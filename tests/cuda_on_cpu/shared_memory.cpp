#include "tests/cuda_on_cpu/shared_memory.h"

#include <new>
#include <stdexcept>
#include <string>

#include "tests/cuda_on_cpu/sanitizer.h"
#include "tests/cuda_on_cpu/unseen.h"

namespace cuda_on_cpu {
namespace {

// A piece begins where no vector is misaligned, and behind it lies some memory that is nobody's.
constexpr std::size_t most_bytes = 48 << 10, step = 128, reserved_bytes = 2 * most_bytes;

}  // namespace

SharedMemory::SharedMemory()
    : all_(static_cast<char*>(::operator new(reserved_bytes, std::align_val_t(step)))) {}

SharedMemory::~SharedMemory() {
  sanitizer::allow(all_, reserved_bytes);
  ::operator delete(all_, std::align_val_t(step));
}

void SharedMemory::begin_launch(const char* kernel, std::size_t bytes) {
  pieces_.clear();
  bytes_ = next_ = 0;
  sanitizer::forbid(all_, reserved_bytes);
  kernel_ = kernel;
  launched_bytes_ = bytes;
  if (bytes > 0) launched();
}

void SharedMemory::begin_block() {
  for (const Piece& piece : pieces_) fill_unseen(piece.memory, piece.bytes);
}

void* SharedMemory::at(const void* source_place, std::size_t bytes) {
  for (const Piece& piece : pieces_) {
    if (piece.source_place == source_place) return piece.memory;
  }
  char* const memory = all_ + next_;
  bytes_ += bytes;
  next_ += (bytes / step + 2) * step;
  if (bytes_ > most_bytes || next_ > reserved_bytes)
    throw std::runtime_error(std::string(kernel_) + ": " + std::to_string(bytes_) +
                             " bytes of shared memory");
  sanitizer::allow(memory, bytes);
  fill_unseen(memory, bytes);
  pieces_.push_back({source_place, memory, bytes});
  return memory;
}

}  // namespace cuda_on_cpu
