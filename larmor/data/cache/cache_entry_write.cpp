#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/base/ensure.h"
#include "larmor/base/files/file.h"
#include "larmor/base/hash.h"
#include "larmor/data/cache/cache_entry.h"
#include "larmor/data/cache/cache_layout.h"
#include "larmor/formats/bytes.h"

namespace larmor {
namespace {

// The smallest type that gives back the same bits. Minus zero is no whole number.
VoxelType smallest_type(std::span<const float> voxels) {
  int32_t low = 0, high = 0;
  bool whole = true;
  for (std::size_t begin = 0; begin < voxels.size() && whole; begin += 4096) {
    for (const float value : voxels.subspan(begin, std::min<std::size_t>(4096, voxels.size() - begin))) {
      const float bounded = value >= -32768.F && value <= 65535.F ? value : 0.5F;
      const auto number = static_cast<int32_t>(bounded);
      whole &= std::bit_cast<uint32_t>(static_cast<float>(number)) == std::bit_cast<uint32_t>(value);
      low = std::min(low, number);
      high = std::max(high, number);
    }
  }
  if (!whole) return VoxelType::float32;
  if (low >= 0) return high <= 255 ? VoxelType::uint8 : VoxelType::uint16;
  return high <= 32767 ? VoxelType::int16 : VoxelType::float32;
}

template <class Stored>
void narrow(const float* from, std::byte* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<Stored>(from[i]);
    std::memcpy(to + i * static_cast<int64_t>(sizeof(Stored)), &value, sizeof(Stored));
  }
}

void narrow(VoxelType type, const float* from, std::byte* to, int64_t count) {
  if (type == VoxelType::uint8) {
    narrow<uint8_t>(from, to, count);
  } else if (type == VoxelType::int16) {
    narrow<int16_t>(from, to, count);
  } else if (type == VoxelType::uint16) {
    narrow<uint16_t>(from, to, count);
  } else {
    narrow<float>(from, to, count);
  }
}

template <class Number>
void put_number(std::byte*& at, Number value) {
  std::memcpy(at, &value, sizeof(Number));
  at += sizeof(Number);
}

void put_text(std::byte*& at, std::string_view letters, std::size_t room) {
  std::memset(at, 0, room);
  std::memcpy(at, letters.data(), letters.size());
  at += room;
}

struct Part {
  CachedTensor tensor;
  at::Tensor voxels;  // contiguous
};

std::vector<Part> parts_of(const std::map<std::string, Volume, std::less<>>& volumes) {
  std::vector<Part> parts;
  for (const auto& [name, volume] : volumes) {
    ensure(volume.voxels.dim() == 4 && volume.voxels.scalar_type() == at::kFloat);
    Part part;
    part.tensor.name = name;
    part.tensor.affine = volume.affine;
    part.voxels = volume.voxels.contiguous();
    for (std::size_t axis = 0; axis < 4; ++axis)
      part.tensor.grid.shape[axis] = part.voxels.size(static_cast<int64_t>(axis));
    part.tensor.type =
        smallest_type({part.voxels.const_data_ptr<float>(), static_cast<std::size_t>(part.voxels.numel())});
    parts.push_back(std::move(part));
  }
  return parts;
}

std::size_t name_room(const CachedTensor& tensor) { return (tensor.name.size() + 7) / 8 * 8; }

// Says where everything goes; gives the lengths of header and file.
std::pair<uint64_t, uint64_t> lay_out(std::vector<Part>& parts) {
  constexpr uint64_t fixed_part = 8 + 4 + 4 + 4 * 8 + 16 * 8 + 8;
  uint64_t header = cache_prologue;
  for (Part& part : parts) {
    part.tensor.hashes = header + fixed_part + name_room(part.tensor);
    header = part.tensor.hashes + static_cast<uint64_t>(part.tensor.grid.bricks()) * sizeof(uint64_t);
  }
  header += sizeof(uint64_t);
  uint64_t end = header;
  for (Part& part : parts) {
    part.tensor.voxels = (end + cache_alignment - 1) / cache_alignment * cache_alignment;
    end = part.tensor.voxels + static_cast<uint64_t>(part.voxels.numel()) * bytes_of(part.tensor.type);
  }
  return {header, end};
}

// One brick's voxels and its hash.
void put_brick(const Part& part, int64_t channel, const GridSize& place, std::byte* file) {
  const CachedTensor& tensor = part.tensor;
  const BrickGrid& grid = tensor.grid;
  const GridSize size = grid.size_of(place);
  const auto width = bytes_of(tensor.type);
  std::byte* const begin =
      file + tensor.voxels + static_cast<std::size_t>(grid.begin_of(channel, place)) * width;
  std::byte* at = begin;
  const float* const voxels = part.voxels.const_data_ptr<float>();
  for (int64_t x = 0; x < size[0]; ++x) {
    for (int64_t y = 0; y < size[1]; ++y) {
      const int64_t plane = channel * grid.shape[1] + place[0] * grid.edge + x;
      const int64_t row = plane * grid.shape[2] + place[1] * grid.edge + y;
      narrow(tensor.type, voxels + row * grid.shape[3] + place[2] * grid.edge, at, size[2]);
      at += static_cast<std::size_t>(size[2]) * width;
    }
  }
  std::byte* hash =
      file + tensor.hashes + static_cast<std::size_t>(grid.number(channel, place)) * sizeof(uint64_t);
  put_number(hash, cache_hash({begin, at}));
}

void put_voxels(const Part& part, std::byte* file) {
  const BrickGrid& grid = part.tensor.grid;
  for (int64_t channel = 0; channel < grid.shape[0]; ++channel) {
    for (int64_t i = 0; i < grid.along(0); ++i) {
      for (int64_t j = 0; j < grid.along(1); ++j) {
        for (int64_t k = 0; k < grid.along(2); ++k) put_brick(part, channel, {i, j, k}, file);
      }
    }
  }
}

void put_description(const CachedTensor& tensor, std::byte*& at) {
  put_number(at, tensor.voxels);
  put_number(at, static_cast<uint32_t>(tensor.type));
  put_number(at, static_cast<uint32_t>(tensor.grid.edge));
  for (const int64_t length : tensor.grid.shape) put_number(at, length);
  for (const auto& row : tensor.affine) {
    for (const double value : row) put_number(at, value);
  }
  put_number(at, static_cast<uint64_t>(tensor.name.size()));
  put_text(at, tensor.name, name_room(tensor));
}

}  // namespace

Bytes encode_cache_entry(std::string_view key, const std::map<std::string, Volume, std::less<>>& volumes) {
  ensure(key.size() == cache_key_letters);
  std::vector<Part> parts = parts_of(volumes);
  const auto [header, length] = lay_out(parts);
  Bytes file(length);
  uint64_t written = header;
  std::byte* at = file.data();
  put_text(at, cache_magic, cache_magic.size());
  put_number(at, cache_format);
  put_number(at, static_cast<uint32_t>(parts.size()));
  put_number(at, header);
  put_number(at, length);
  put_text(at, key, cache_key_letters);
  for (const Part& part : parts) {
    ensure(part.tensor.name.size() <= longest_cached_name);
    put_description(part.tensor, at);
    std::memset(file.data() + written, 0, part.tensor.voxels - written);
    put_voxels(part, file.data());
    written = part.tensor.voxels + static_cast<uint64_t>(part.voxels.numel()) * bytes_of(part.tensor.type);
    at = file.data() + part.tensor.hashes +
         static_cast<std::size_t>(part.tensor.grid.bricks()) * sizeof(uint64_t);
  }
  put_number(at, cache_hash(file.view().first(header - sizeof(uint64_t))));
  return file;
}

void write_cache_entry(Storage& storage, const std::filesystem::path& path, const Bytes& entry) {
  write_text(storage, path, {reinterpret_cast<const char*>(entry.data()), entry.size()});
}

}  // namespace larmor
