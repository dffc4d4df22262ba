// Kernels of planted.cu: what the machine of this folder offers, and mistakes that it has to find.
#pragma once

#include <cstdint>

namespace cuda_on_cpu::planted {

enum class Barriers { all, none };

/// sums [blocks] of numbers [blocks, 64]; with a barrier before each half is added, or without (a race).
void add_by_halves(const float* numbers, float* sums, int blocks, Barriers barriers);
/// sums [blocks] of numbers [blocks, threads], by shuffles within warps and launched shared memory between
/// them.
void add_by_shuffles(const float* numbers, float* sums, int blocks, int threads);
/// of [threads]: what the first threads of other blocks have written, where blocks run in the order of their
/// numbers.
void read_across_blocks(int* numbers, int blocks);
/// Half of a block's threads end, the others wait for them.
void wait_for_nobody();
/// Adds by atomics; counts [3]: by every thread, by block, and the votes of lanes with even numbers.
void count_threads(int* counts, int blocks, int threads);
/// What shared memory holds before it is written.
void read_unwritten(double* number);
/// Writes numbers[count], of which there is none.
void write_beyond(int* numbers, int count);
/// Writes a shared array's element behind its last.
void write_beyond_shared(int index);
void launch_blocks_of(int64_t threads);
void take_shared_bytes(int64_t bytes);
/// Copies packs of four floats; misaligned where `begin` is no multiple of four.
void copy_packs(const float* from, float* to, int begin);

}  // namespace cuda_on_cpu::planted
