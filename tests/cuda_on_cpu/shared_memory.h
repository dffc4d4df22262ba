// The shared memory of the block that runs.
#pragma once

#include <cstddef>
#include <vector>

namespace cuda_on_cpu {

class SharedMemory {
 public:
  SharedMemory() = default;
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Throws where a block would have more than a card has without being asked.
  void begin_launch(const char* kernel, std::size_t bytes);
  /// Fills all of it: NaN as a number, -1 as an index.
  void begin_block();
  void* at(const void* source_place, std::size_t bytes, std::size_t alignment);
  void* launched() { return at(this, launched_bytes_, launched_alignment); }

 private:
  static constexpr std::size_t launched_alignment = 16;
  struct Piece {
    const void* source_place;
    void* memory;
    std::size_t bytes, alignment;
  };

  void clear();

  std::vector<Piece> pieces_;  // of this launch
  std::size_t launched_bytes_ = 0, bytes_ = 0;
  const char* kernel_ = "";
};

}  // namespace cuda_on_cpu
