// How the kernels of norms go through a tensor. A thread reads and writes 16 bytes at a time: neighbouring
// channels of a voxel, or neighbouring voxels of a channel, and two such packs before it computes, so that memory is never
// waited for with one small load under way. A block has a stretch of a few channels: so many blocks share a channel that
// the whole device works on one sample. What they found is brought together in one order: no atomics, the same bits in
// every run.
#pragma once

#include <algorithm>
#include <cstdint>

namespace larmor::norm_packs {

constexpr int threads = 256, most_columns = 32, merging_threads = 128, bytes_of_a_pack = 16;
constexpr int64_t least_packs_of_a_thread = 16, most_pieces = 1024, enough_blocks = 2048;

/// A tensor [samples, channels, voxels] in either layout as columns of packs, cut into pieces. Channels first, a column
/// is a channel and its packs are of voxels; channels last, it is as many channels as a pack has, and each of its packs a
/// voxel of them.
struct Tiles {
  int64_t samples, channels, voxels, groups;
  int64_t columns, packs;           // of a sample, and of a column
  int64_t column_step, pack_step;   // elements from one to the next
  int64_t piece_packs, pieces;
  int block_columns, rows;          // of a block's threads: columns, and packs at a time

  __host__ __device__ int64_t group_channels() const { return channels / groups; }
};

/// Elements that are loaded and stored at once.
template <class Element, int count>
struct alignas(sizeof(Element) * count) Pack {
  Element of[count];
};

/// What a thread has of its block: every `rows`th pack of a stretch of a column. `lanes`: channels of the column.
template <int lanes>
struct ThreadPart {
  __device__ explicit ThreadPart(const Tiles& tiles)
      : block_column(static_cast<int>(threadIdx.x) % tiles.block_columns),
        row(static_cast<int>(threadIdx.x) / tiles.block_columns),
        first_column(static_cast<int64_t>(blockIdx.y) * tiles.block_columns) {
    const int64_t column = first_column + block_column, begin = blockIdx.x * tiles.piece_packs;
    const int64_t end = min(begin + tiles.piece_packs, tiles.packs);
    count = column < tiles.columns && begin + row < end ? (end - begin - row + tiles.rows - 1) / tiles.rows : 0;
    sample_begin = blockIdx.z * tiles.channels * tiles.voxels;
    block_begin = sample_begin + column * tiles.column_step + begin * tiles.pack_step;
    begins = block_begin + row * tiles.pack_step;
    step = tiles.rows * tiles.pack_step;
    run = blockIdx.z * tiles.channels + column * lanes;
  }

  int block_column, row;
  int64_t first_column, count;                       // of packs
  int64_t sample_begin, block_begin, begins, step;   // in elements
  int64_t run;                                       // of samples and channels: the column's first
};

/// Calls compute(place, load(place)) for each of a thread's packs; of two packs both are loaded before one is computed.
template <int lanes, class Load, class Compute>
__device__ void for_packs(const ThreadPart<lanes>& part, Load load, Compute compute) {
  int64_t place = part.begins, left = part.count;
  for (; left >= 2; left -= 2, place += 2 * part.step) {
    const auto one = load(place), other = load(place + part.step);
    compute(place, one);
    compute(place + part.step, other);
  }
  if (left > 0) compute(place, load(place));
}

template <class Element, int count>
__device__ Pack<Element, count> pack_at(const Element* __restrict__ elements, int64_t place) {
  return *reinterpret_cast<const Pack<Element, count>*>(elements + place);
}

struct Sums {
  double plain, other;
};

struct AddSums {
  __device__ Sums operator()(const Sums& a, const Sums& b) const {
    return {a.plain + b.plain, a.other + b.other};
  }
};

/// Brings the values of all threads together, halves onto halves. Requires: count is a power of two, and all threads come
/// here.
template <class Value, class Add>
__device__ Value join(Value* shared, Value own, int count, Add add) {
  const int index = static_cast<int>(threadIdx.x);
  __syncthreads();  // the result of an earlier call has been read
  shared[index] = own;
  for (int half = count / 2; half > 0; half /= 2) {
    __syncthreads();
    if (index < half) shared[index] = add(shared[index], shared[index + half]);
  }
  __syncthreads();
  return shared[0];
}

/// Adds up what the threads of a block have of each of its channels, rows in one order, and calls store(channel, sums)
/// once for each: `channel` counts from the block's first. Requires: all threads come here.
template <int lanes, class Number, class Store>
__device__ void add_rows(const Tiles& tiles, const Number (&plain)[lanes], const Number (&other)[lanes], Store store) {
  __shared__ Sums shared[threads * lanes];
  const int width = tiles.block_columns * lanes, slices = threads / width;
  const int index = static_cast<int>(threadIdx.x), channel = index % width, slice = index / width;
#pragma unroll
  for (int lane = 0; lane < lanes; ++lane)
    shared[index * lanes + lane] = {static_cast<double>(plain[lane]), static_cast<double>(other[lane])};
  __syncthreads();
  // Each thread brings `lanes` rows of one channel together; then halves of the threads do.
  Sums own{};
#pragma unroll
  for (int row = 0; row < lanes; ++row) own = AddSums()(own, shared[(slice * lanes + row) * width + channel]);
  __syncthreads();
  shared[index] = own;
  for (int half = slices / 2; half > 0; half /= 2) {
    __syncthreads();
    if (slice < half) shared[index] = AddSums()(shared[index], shared[index + half * width]);
  }
  __syncthreads();
  if (index < width) store(index, shared[index]);
}

/// `size`: elements of a pack, which are of `lanes` channels side by side, or voxels of one.
inline Tiles cut(Tiles tiles, bool channels_last, int size, int lanes) {
  tiles.columns = tiles.channels / lanes;
  tiles.packs = tiles.voxels * lanes / size;
  tiles.column_step = channels_last ? lanes : tiles.voxels;
  tiles.pack_step = channels_last ? tiles.channels : size;
  tiles.block_columns = 1;
  while (channels_last && tiles.block_columns < std::min<int64_t>(tiles.columns, most_columns)) tiles.block_columns *= 2;
  tiles.rows = threads / tiles.block_columns;
  const int64_t least = tiles.rows * least_packs_of_a_thread,
                beside = tiles.samples * ((tiles.columns + tiles.block_columns - 1) / tiles.block_columns);
  const int64_t wanted = std::min((tiles.packs + least - 1) / least, (enough_blocks + beside - 1) / beside);
  const int64_t most = std::clamp<int64_t>(wanted, 1, most_pieces);
  tiles.piece_packs = (tiles.packs + most - 1) / most;
  tiles.pieces = (tiles.packs + tiles.piece_packs - 1) / tiles.piece_packs;  // none is empty
  return tiles;
}

}  // namespace larmor::norm_packs
