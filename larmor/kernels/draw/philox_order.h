// In which order a GPU makes the blocks of a row, and where their elements lie: a row is numbered in logical
// order, in memory a voxel's channels may lie side by side. The turns are such that neighbouring threads
// write neighbouring elements; each block has one turn, and a few turns have none.
#pragma once

#include <cstdint>

#include "larmor/base/philox.h"

namespace larmor::philox4x32 {

constexpr int64_t numbers_of_a_block = 4;

/// The first element that a block makes; its words follow `lanes` apart.
constexpr int64_t first_element_of(int64_t block) {
  constexpr auto side = static_cast<int64_t>(lanes), whole = static_cast<int64_t>(group);
  return block / side * whole + block % side;
}

/// Elements lie in the order of their numbers.
struct NumberedOrder {
  constexpr int64_t turns(int64_t blocks) const { return blocks; }
  constexpr int64_t block_of(int64_t turn, int64_t /*blocks*/) const { return turn; }
  constexpr void place(int64_t first, int64_t (&places)[numbers_of_a_block]) const {
    for (int64_t& each : places) {
      each = first;
      first += static_cast<int64_t>(lanes);
    }
  }
};

/// A row is [channels, voxels], of which a voxel's channels lie side by side.
struct ChannelsLastOrder {
  int64_t channels, voxels;

  constexpr int64_t stretch(int64_t blocks) const { return (blocks + channels - 1) / channels; }
  constexpr int64_t turns(int64_t blocks) const { return stretch(blocks) * channels; }
  /// May be beyond the last block.
  constexpr int64_t block_of(int64_t turn, int64_t blocks) const {
    return turn % channels * stretch(blocks) + turn / channels;
  }
  constexpr void place(int64_t first, int64_t (&places)[numbers_of_a_block]) const {
    int64_t channel = first / voxels, voxel = first - channel * voxels;
    for (int64_t& each : places) {
      each = voxel * channels + channel;
      for (voxel += static_cast<int64_t>(lanes); voxel >= voxels; voxel -= voxels) ++channel;
    }
  }
};

}  // namespace larmor::philox4x32
