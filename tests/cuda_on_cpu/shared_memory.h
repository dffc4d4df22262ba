// The shared memory of the block that runs.
#pragma once

#include <cstddef>
#include <vector>

namespace cuda_on_cpu {

class SharedMemory {
 public:
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Throws where a block would have more than a card has without being asked.
  void begin_launch(const char* kernel, std::size_t bytes);
  /// Fills all of it: NaN as a number, -1 as an index.
  void begin_block();
  void* at(const void* source_place, std::size_t bytes);
  void* launched() { return at(this, launched_bytes_); }

 private:
  struct Piece {
    const void* source_place;
    char* memory;
    std::size_t bytes;
  };

  char* const all_;            // had before a kernel runs: to a sanitizer, to have memory is to write it
  std::vector<Piece> pieces_;  // of this launch
  std::size_t launched_bytes_ = 0, bytes_ = 0, next_ = 0;
  const char* kernel_ = "";
};

}  // namespace cuda_on_cpu
