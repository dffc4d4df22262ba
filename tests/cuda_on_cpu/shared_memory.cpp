#include "tests/cuda_on_cpu/shared_memory.h"

#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

namespace cuda_on_cpu {
namespace {

constexpr std::size_t most_bytes = 48 << 10;
constexpr int rubbish = 0xff;

}  // namespace

SharedMemory::~SharedMemory() { clear(); }

void SharedMemory::clear() {
  for (const Piece& piece : pieces_) ::operator delete(piece.memory, std::align_val_t(piece.alignment));
  pieces_.clear();
  bytes_ = 0;
}

void SharedMemory::begin_launch(const char* kernel, std::size_t bytes) {
  clear();
  kernel_ = kernel;
  launched_bytes_ = bytes;
  if (bytes > 0) launched();
}

void SharedMemory::begin_block() {
  for (const Piece& piece : pieces_) std::memset(piece.memory, rubbish, piece.bytes);
}

void* SharedMemory::at(const void* source_place, std::size_t bytes, std::size_t alignment) {
  for (const Piece& piece : pieces_) {
    if (piece.source_place == source_place) return piece.memory;
  }
  bytes_ += bytes;
  if (bytes_ > most_bytes)
    throw std::runtime_error(std::string(kernel_) + ": " + std::to_string(bytes_) +
                             " bytes of shared memory");
  // One piece of the heap each, so that a sanitizer knows where it ends.
  void* const memory = ::operator new(bytes, std::align_val_t(alignment));
  std::memset(memory, rubbish, bytes);
  pieces_.push_back({source_place, memory, bytes, alignment});
  return memory;
}

}  // namespace cuda_on_cpu
