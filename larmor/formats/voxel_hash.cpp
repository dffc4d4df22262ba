#include "larmor/formats/voxel_hash.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "larmor/base/hash.h"

namespace larmor {

namespace {

/// Stored voxels in, in the order in which they are hashed.
class NumberHash {
 public:
  explicit NumberHash(const VoxelFormat& format) : format_(format), numbers_(std::size_t{1} << 15) {}

  void add(std::span<const std::byte> stored) {
    const std::size_t width = bytes_of(format_.type);
    while (!stored.empty()) {
      const std::size_t count = std::min(numbers_.size(), stored.size() / width);
      const auto part = std::span(numbers_).first(count);
      decode_voxels(stored.first(count * width), format_, part);
      hash_.update(std::as_bytes(part));
      stored = stored.subspan(count * width);
    }
  }
  std::string hex() { return hash_.hex(); }

 private:
  VoxelFormat format_;
  std::vector<float> numbers_;
  Sha256 hash_;
};

/// Three axes, of which the last lies together in the file: the first one, all between them, the last one.
struct Folded {
  std::size_t first = 1, middle = 1, last = 1;
  std::vector<std::size_t> middle_sizes;
};

Folded fold(const StoredArray& array) {
  std::vector<std::size_t> sizes;
  for (const int64_t size : array.shape) {
    if (size > 1) sizes.push_back(static_cast<std::size_t>(size));
  }
  Folded folded;
  if (sizes.empty()) return folded;
  folded.last = sizes.back();
  sizes.pop_back();
  if (sizes.empty()) return folded;
  folded.first = sizes.front();
  folded.middle_sizes.assign(sizes.begin() + 1, sizes.end());
  for (const std::size_t size : folded.middle_sizes) folded.middle *= size;
  return folded;
}

/// Place in the file of what comes as number `rank` when the first of the middle axes is the fastest.
std::size_t place_in_middle(std::size_t rank, const Folded& folded) {
  std::size_t place = 0, step = folded.middle;
  for (const std::size_t size : folded.middle_sizes) {
    step /= size;
    place += rank % size * step;
    rank /= size;
  }
  return place;
}

constexpr std::size_t tile = 64;

/// `depth` planes [middle][first], of the voxels from `begin` on of the last axis. Both sides of a tile fit
/// the processor's nearest cache.
template <std::size_t width>
void turn(const std::byte* voxels, const Folded& folded, std::size_t begin, std::size_t depth,
          std::byte* planes) {
  const std::size_t plane = folded.middle * folded.first, step = folded.middle * folded.last * width;
  for (std::size_t rank = 0; rank < folded.middle; ++rank) {
    const std::byte* const row = voxels + (place_in_middle(rank, folded) * folded.last + begin) * width;
    for (std::size_t low = 0; low < folded.first; low += tile) {
      const std::size_t high = std::min(folded.first, low + tile);
      for (std::size_t k = 0; k < depth; ++k) {
        std::byte* const to = planes + (k * plane + rank * folded.first) * width;
        for (std::size_t i = low; i < high; ++i)
          std::memcpy(to + i * width, row + i * step + k * width, width);
      }
    }
  }
}

/// One plane that is too large to be held: in parts.
template <std::size_t width>
void add_plane(const std::byte* voxels, const Folded& folded, std::size_t k, NumberHash& hash) {
  std::vector<std::byte> part(std::size_t{1} << 20);
  std::size_t filled = 0;
  for (std::size_t rank = 0; rank < folded.middle; ++rank) {
    const std::size_t place = place_in_middle(rank, folded);
    for (std::size_t i = 0; i < folded.first; ++i) {
      std::memcpy(part.data() + filled, voxels + ((i * folded.middle + place) * folded.last + k) * width,
                  width);
      filled += width;
      if (filled < part.size()) continue;
      hash.add(part);
      filled = 0;
    }
  }
  hash.add(std::span(part).first(filled));
}

template <std::size_t width>
void add_turned(const std::byte* voxels, const Folded& folded, std::size_t held, NumberHash& hash) {
  const std::size_t plane = folded.middle * folded.first * width;
  const std::size_t depth = std::min({folded.last, tile, held / plane});
  if (depth == 0) {
    for (std::size_t k = 0; k < folded.last; ++k) add_plane<width>(voxels, folded, k, hash);
    return;
  }
  Bytes planes(depth * plane);
  for (std::size_t begin = 0; begin < folded.last; begin += depth) {
    const std::size_t now = std::min(depth, folded.last - begin);
    turn<width>(voxels, folded, begin, now, planes.data());
    hash.add(std::as_const(planes).view().first(now * plane));
  }
}

}  // namespace

std::string hash_of_voxels(const StoredArray& array, std::size_t held) {
  NumberHash hash(array.format);
  const std::span<const std::byte> voxels = array.voxels();
  const Folded folded = fold(array);
  if (array.first_axis_fastest || folded.first == 1) {
    hash.add(voxels);
    return hash.hex();
  }
  switch (bytes_of(array.format.type)) {
    case 1:
      add_turned<1>(voxels.data(), folded, held, hash);
      break;
    case 2:
      add_turned<2>(voxels.data(), folded, held, hash);
      break;
    case 4:
      add_turned<4>(voxels.data(), folded, held, hash);
      break;
    default:
      add_turned<8>(voxels.data(), folded, held, hash);
  }
  return hash.hex();
}

}  // namespace larmor
