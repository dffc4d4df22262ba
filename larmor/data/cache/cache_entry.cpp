#include "larmor/data/cache/cache_entry.h"

#include <sys/file.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <ATen/ops/empty.h>
#include <unistd.h>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/files/regular_file.h"
#include "larmor/base/hash.h"
#include "larmor/base/load_clock.h"
#include "larmor/base/text.h"
#include "larmor/data/cache/cache_layout.h"
#include "larmor/formats/bytes.h"

namespace larmor {

struct CacheEntry::State {
  State() = default;
  ~State() {
    if (mapping != nullptr) ::munmap(mapping, bytes.size());
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void* mapping = nullptr;
  std::span<const std::byte> bytes;
  std::string key;
  std::vector<CachedTensor> tensors;
};

namespace {

[[noreturn]] void refuse_entry(const std::string& what) {
  fail(Exit::data, text("is no sound entry of the prepared cache: ", what), "remove it; it is made anew");
}

// Takes numbers off the front of a header that may be lying.
class EntryHeader {
 public:
  EntryHeader(std::span<const std::byte> header, std::size_t begin) : header_(header), at_(begin) {}

  std::span<const std::byte> take(uint64_t count) {
    if (count > header_.size() - at_) refuse_entry("its header ends early");
    const auto bytes = header_.subspan(at_, count);
    at_ += count;
    return bytes;
  }
  template <class Number>
  Number number() {
    Number value;
    std::memcpy(&value, take(sizeof(Number)).data(), sizeof(Number));
    return value;
  }
  std::size_t at() const { return at_; }
  std::size_t left() const { return header_.size() - at_; }

 private:
  std::span<const std::byte> header_;
  std::size_t at_;
};

VoxelType type_of(uint32_t code) {
  for (const VoxelType type : {VoxelType::uint8, VoxelType::uint16, VoxelType::int16, VoxelType::float32}) {
    if (code == static_cast<uint32_t>(type)) return type;
  }
  refuse_entry(text("voxels of the unknown type ", code));
}

// `file_bytes` bounds the voxels: each takes a byte at least.
CachedTensor take_tensor(EntryHeader& header, uint64_t file_bytes) {
  CachedTensor tensor;
  tensor.voxels = header.number<uint64_t>();
  tensor.type = type_of(header.number<uint32_t>());
  tensor.grid.edge = header.number<uint32_t>();
  if (tensor.grid.edge < 1 || tensor.grid.edge > 4096) refuse_entry("bricks of an impossible size");
  auto room = static_cast<int64_t>(file_bytes);
  for (int64_t& length : tensor.grid.shape) {
    length = header.number<int64_t>();
    if (length < 1 || length > room) refuse_entry("a shape that its file cannot hold");
    room /= length;
  }
  for (auto& row : tensor.affine) {
    for (double& value : row) value = header.number<double>();
  }
  const auto letters = header.number<uint64_t>();
  if (letters > longest_cached_name) refuse_entry("a name that is too long");
  const auto name = header.take((letters + 7) / 8 * 8);
  tensor.name.assign(reinterpret_cast<const char*>(name.data()), letters);
  tensor.hashes = header.at();
  if (static_cast<uint64_t>(tensor.grid.bricks()) > header.left() / sizeof(uint64_t))
    refuse_entry("its header ends early");
  header.take(static_cast<uint64_t>(tensor.grid.bricks()) * sizeof(uint64_t));
  return tensor;
}

// Where the tensors end, when they lie one behind the other as they should.
uint64_t end_of(const std::vector<CachedTensor>& tensors, uint64_t header) {
  uint64_t end = header;
  for (const CachedTensor& tensor : tensors) {
    const uint64_t begin = (end + cache_alignment - 1) / cache_alignment * cache_alignment;
    if (tensor.voxels != begin) refuse_entry("voxels that are not where they belong");
    end = begin + static_cast<uint64_t>(tensor.grid.voxels()) * bytes_of(tensor.type);
  }
  return end;
}

std::vector<CachedTensor> parse_entry(std::span<const std::byte> bytes, std::string& key) {
  if (bytes.size() < cache_prologue + sizeof(uint64_t) ||
      std::memcmp(bytes.data(), cache_magic.data(), cache_magic.size()) != 0) {
    refuse_entry("it does not begin like one");
  }
  EntryHeader prologue(bytes, cache_magic.size());
  const auto version = prologue.number<uint32_t>();
  if (version != cache_format)
    refuse_entry(text("format ", version, ", where ", cache_format, " is understood"));
  const auto count = prologue.number<uint32_t>();
  const auto header_bytes = prologue.number<uint64_t>();
  const auto file_bytes = prologue.number<uint64_t>();
  if (file_bytes != bytes.size()) refuse_entry(text(bytes.size(), " bytes long instead of ", file_bytes));
  if (header_bytes < cache_prologue + sizeof(uint64_t) || header_bytes > bytes.size())
    refuse_entry("its header ends early");
  const std::size_t hashed = header_bytes - sizeof(uint64_t);
  if (EntryHeader(bytes, hashed).number<uint64_t>() != cache_hash(bytes.first(hashed)))
    refuse_entry("its header is damaged");
  if (count > most_cached_tensors) refuse_entry("too many tensors");
  const auto letters = prologue.take(cache_key_letters);
  key.assign(reinterpret_cast<const char*>(letters.data()), letters.size());
  EntryHeader header(bytes.first(hashed), prologue.at());
  std::vector<CachedTensor> tensors;
  for (uint32_t i = 0; i < count; ++i) tensors.push_back(take_tensor(header, bytes.size()));
  if (header.left() != 0 || end_of(tensors, header_bytes) != bytes.size())
    refuse_entry("lengths that contradict each other");
  return tensors;
}

template <class Stored>
void widen(const std::byte* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    Stored value;
    std::memcpy(&value, from + i * static_cast<int64_t>(sizeof(Stored)), sizeof(Stored));
    to[i] = static_cast<float>(value);
  }
}

void widen(VoxelType type, const std::byte* from, float* to, int64_t count) {
  if (type == VoxelType::uint8) {
    widen<uint8_t>(from, to, count);
  } else if (type == VoxelType::int16) {
    widen<int16_t>(from, to, count);
  } else if (type == VoxelType::uint16) {
    widen<uint16_t>(from, to, count);
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
  }
}

// A part of a channel that is being put together from bricks.
struct Crop {
  GridSize corner, size;
  float* channel = nullptr;
};

void copy_brick(const BrickGrid& grid, VoxelType type, const GridSize& place, const std::byte* brick,
                const Crop& crop) {
  const GridSize size = grid.size_of(place);
  GridSize low{}, high{};  // in the crop
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int64_t begin = place[axis] * grid.edge - crop.corner[axis];
    low[axis] = std::max<int64_t>(begin, 0);
    high[axis] = std::min(begin + size[axis], crop.size[axis]);
  }
  const GridSize offset{crop.corner[0] - place[0] * grid.edge, crop.corner[1] - place[1] * grid.edge,
                        crop.corner[2] - place[2] * grid.edge};
  const auto width = static_cast<int64_t>(bytes_of(type));
  for (int64_t x = low[0]; x < high[0]; ++x) {
    for (int64_t y = low[1]; y < high[1]; ++y) {
      const int64_t from = ((x + offset[0]) * size[1] + y + offset[1]) * size[2] + low[2] + offset[2];
      float* const to = crop.channel + (x * crop.size[1] + y) * crop.size[2] + low[2];
      widen(type, brick + from * width, to, high[2] - low[2]);
    }
  }
}

Affine shifted(const Affine& affine, const std::vector<int64_t>& corner) {
  Affine shift = identity_affine();
  for (std::size_t axis = 0; axis < 3; ++axis) shift[axis][3] = static_cast<double>(corner[axis]);
  return compose(affine, shift);
}

// Whether the pages can be had. Those of a file that was cut short, or that lies on a disk that fails, would
// end the process by SIGBUS; asked for like this they are an answer. Kernels before 5.14 do not know the
// question.
bool can_be_read(std::span<const std::byte> bytes) {
  constexpr int populate_read = 22;  // MADV_POPULATE_READ
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = std::bit_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t from = begin / page * page;
  return ::madvise(std::bit_cast<void*>(from), begin - from + bytes.size(), populate_read) == 0 ||
         (errno != EFAULT && errno != EHWPOISON);
}

}  // namespace

CacheEntry CacheEntry::open(const std::filesystem::path& path) {
  return naming(path, [&] {
    const RegularFile file = open_regular(path);
    // Belongs to the open file, which lives as long as it is mapped: no descriptor has to stay open. Where it
    // cannot be had the entry may be cleaned away meanwhile, and stays readable here.
    static_cast<void>(::flock(file.descriptor(), LOCK_SH | LOCK_NB));
    auto state = std::make_shared<State>();
    const uint64_t size = file.size();
    if (size == 0) refuse_entry("it is empty");
    void* const mapping = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
    if (mapping == MAP_FAILED) refuse_entry("it cannot be mapped");
    state->mapping = mapping;
    state->bytes = {static_cast<const std::byte*>(mapping), size};
    state->tensors = parse_entry(state->bytes, state->key);
    return CacheEntry(std::move(state));
  });
}

CacheEntry CacheEntry::of(std::span<const std::byte> bytes) {
  auto state = std::make_shared<State>();
  state->bytes = bytes;
  state->tensors = parse_entry(bytes, state->key);
  return CacheEntry(std::move(state));
}

const CachedTensor& CacheEntry::find(std::string_view name) const {
  const auto& tensors = state_->tensors;
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const auto& one) { return one.name == name; });
  ensure(found != tensors.end());
  return *found;
}

const std::string& CacheEntry::key() const { return state_->key; }

uint64_t CacheEntry::bytes() const { return state_->bytes.size(); }

DeferredVolumes CacheEntry::deferred() const {
  DeferredVolumes volumes;
  for (const CachedTensor& tensor : state_->tensors) {
    volumes[tensor.name] = {.shape = tensor.grid.shape,
                            .affine = tensor.affine,
                            .read = [entry = *this, name = tensor.name](const std::vector<int64_t>& corner,
                                                                        const std::vector<int64_t>& size) {
                              return entry.read_crop(name, corner, size).voxels;
                            }};
  }
  return volumes;
}

std::vector<std::string> CacheEntry::names() const {
  std::vector<std::string> names;
  for (const CachedTensor& tensor : state_->tensors) names.push_back(tensor.name);
  return names;
}

std::vector<int64_t> CacheEntry::shape(std::string_view name) const {
  const auto& shape = find(name).grid.shape;
  return {shape.begin(), shape.end()};
}

const Affine& CacheEntry::affine(std::string_view name) const { return find(name).affine; }

const std::byte* CacheEntry::brick(const CachedTensor& tensor, int64_t channel, const GridSize& place) const {
  const GridSize size = tensor.grid.size_of(place);
  const std::size_t width = bytes_of(tensor.type);
  const auto begin = static_cast<std::size_t>(tensor.grid.begin_of(channel, place)) * width;
  const auto count = static_cast<std::size_t>(size[0] * size[1] * size[2]) * width;
  const auto bytes = state_->bytes.subspan(tensor.voxels + begin, count);
  const auto number = static_cast<std::size_t>(tensor.grid.number(channel, place));
  const auto refuse = [&](std::string_view what) {
    throw DamagedBrick(Exit::data,
                       text("brick ", number, " of ", tensor.name, " in the prepared cache ", what),
                       "remove the entry; it is made anew");
  };
  uint64_t expected = 0;
  const auto hash = state_->bytes.subspan(tensor.hashes + number * sizeof(expected), sizeof(expected));
  if (state_->mapping != nullptr && !(can_be_read(bytes) && can_be_read(hash))) refuse("cannot be read");
  std::memcpy(&expected, hash.data(), sizeof(expected));
  if (cache_hash(bytes) != expected) refuse("is damaged");
  return bytes.data();
}

Volume CacheEntry::read_crop(std::string_view name, const std::vector<int64_t>& corner,
                             const std::vector<int64_t>& size) const {
  const LoadScope stage(LoadStage::read);
  const CachedTensor& tensor = find(name);
  const BrickGrid& grid = tensor.grid;
  ensure(corner.size() == 3 && size.size() == 3);
  GridSize first{}, last{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    ensure(corner[axis] >= 0 && size[axis] > 0 && corner[axis] + size[axis] <= grid.shape[axis + 1]);
    first[axis] = corner[axis] / grid.edge;
    last[axis] = (corner[axis] + size[axis] - 1) / grid.edge;
  }
  const at::Tensor voxels = at::empty({grid.shape[0], size[0], size[1], size[2]}, at::kFloat);
  Crop crop{{corner[0], corner[1], corner[2]}, {size[0], size[1], size[2]}, voxels.mutable_data_ptr<float>()};
  for (int64_t channel = 0; channel < grid.shape[0]; ++channel) {
    for (int64_t i = first[0]; i <= last[0]; ++i) {
      for (int64_t j = first[1]; j <= last[1]; ++j) {
        for (int64_t k = first[2]; k <= last[2]; ++k)
          copy_brick(grid, tensor.type, {i, j, k}, brick(tensor, channel, {i, j, k}), crop);
      }
    }
    crop.channel += size[0] * size[1] * size[2];
  }
  return {voxels, shifted(tensor.affine, corner)};
}

Volume CacheEntry::read(std::string_view name) const {
  const auto& shape = find(name).grid.shape;
  Volume volume = read_crop(name, {0, 0, 0}, {shape[1], shape[2], shape[3]});
  volume.affine = find(name).affine;
  return volume;
}

}  // namespace larmor
