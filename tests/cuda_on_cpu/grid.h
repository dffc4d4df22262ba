// A card's grids on the CPU: blocks run one after another, the threads of a block as fibers that change
// places where they meet. This is what a kernel sees of it; cuda_shim/cuda_on_cpu.h gives it CUDA's names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace cuda_on_cpu {

constexpr int warp_lanes = 32;
constexpr std::size_t bytes_of_exchange = 16;

struct Size {
  unsigned x = 1, y = 1, z = 1;
  constexpr Size(unsigned of_x = 1, unsigned of_y = 1, unsigned of_z = 1) : x(of_x), y(of_y), z(of_z) {}
  constexpr uint64_t count() const { return static_cast<uint64_t>(x) * y * z; }
};

/// Where a thread is, and of how many.
struct Place {
  Size thread, block, threads, blocks;
};
const Place& place_here();
int lane_here();

/// All threads of the block wait for each other. Throws, for the whole grid, where some have ended already.
void meet_block();
/// How many of the block's threads count; all of them meet.
int count_in_block(bool counts);
/// The lanes of the mask wait for each other.
void meet_warp(unsigned mask);
/// A bit for each lane of the mask whose value is true. Orders no memory, as on a card.
unsigned vote(unsigned mask, bool value);
/// Copies what `lane` brings to `value`, as its own is brought to others. Orders no memory.
void exchange(unsigned mask, void* value, std::size_t bytes, int lane);

template <class Value>
Value value_of_lane(unsigned mask, Value value, int lane) {
  static_assert(sizeof(Value) <= bytes_of_exchange);
  exchange(mask, &value, sizeof value, lane);
  return value;
}

/// Memory of the running block for a place in a source. It holds NaN when the block begins, and
/// begins at a multiple of 128 bytes.
void* block_memory(const void* source_place, std::size_t bytes);
/// As many bytes as the launch asked for.
void* launched_block_memory();

template <class Variable, class SourcePlace>
Variable& shared_memory(SourcePlace) {
  static const char place = 0;
  return *static_cast<Variable*>(block_memory(&place, sizeof(Variable)));
}
template <class Element>
Element* launched_memory() {
  return static_cast<Element*>(launched_block_memory());
}

/// Runs `thread` for each thread of the grid. Throws what a card refuses: too many threads, too large a grid,
/// too much shared memory; and where threads wait for others that never come.
void run_grid(const char* name, Size blocks, Size threads, std::size_t shared_bytes,
              const std::function<void()>& thread);

constexpr Size size_of(Size size) { return size; }
/// Throws where a launch would narrow the number without a word.
Size size_of_wide(int64_t size);
template <class Integer>
Size size_of(Integer size) {
  return size_of_wide(static_cast<int64_t>(size));
}

template <class Kernel>
struct Launch {
  const char* name;
  Kernel kernel;
  Size blocks, threads;
  std::size_t shared_bytes;

  template <class... Arguments>
  void operator()(Arguments... arguments) const {  // copied once, as a launch does
    run_grid(name, blocks, threads, shared_bytes, [&] { kernel(arguments...); });
  }
};

/// kernel<<<blocks, threads, shared_bytes, stream>>>
template <class Kernel, class Blocks, class Threads, class... Stream>
Launch<Kernel> launch(const char* name, Kernel kernel, Blocks blocks, Threads threads,
                      std::size_t shared_bytes = 0, Stream...) {
  return {name, kernel, size_of(blocks), size_of(threads), shared_bytes};
}

}  // namespace cuda_on_cpu
