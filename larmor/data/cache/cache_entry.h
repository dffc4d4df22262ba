// One prepared example on disk: the volumes that the deterministic part of a chain made of it, in bricks, so
// that a crop reads only what it needs. Memory-mapped: all processes of a machine share one copy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/files/storage.h"
#include "larmor/formats/bytes.h"
#include "larmor/formats/volume.h"
#include "larmor/transforms/deferred_voxels.h"

namespace larmor {

struct CachedTensor;

/// What reading throws when a brick is not what was written.
class DamagedBrick : public Error {
 public:
  using Error::Error;
};

/// Thread-safe. Copies share the mapping. An entry that is open counts as in use (a shared lock that goes
/// with the mapping). Its file is never written again, and may be removed meanwhile.
class CacheEntry {
 public:
  /// Throws Error (data): absent, not an entry, of another format version, header damaged, cut short.
  static CacheEntry open(const std::filesystem::path& path);
  /// An entry that lies in memory. Borrows the bytes. Throws as open() does.
  static CacheEntry of(std::span<const std::byte> bytes);

  /// What it was written for.
  const std::string& key() const;
  std::vector<std::string> names() const;
  /// [C, X, Y, Z]. Requires of this and what follows: `name` is one of names().
  std::vector<int64_t> shape(std::string_view name) const;
  const Affine& affine(std::string_view name) const;
  /// The volume, bit by bit as it was written, contiguous. Throws DamagedBrick.
  Volume read(std::string_view name) const;
  /// The crop of all channels that starts at `corner`; reads no brick that it does not touch. Throws as
  /// read() does. Requires: it lies inside.
  Volume read_crop(std::string_view name, const std::vector<int64_t>& corner,
                   const std::vector<int64_t>& size) const;
  /// All volumes, to be read in parts; keeps the mapping. Reading throws as read() does.
  DeferredVolumes deferred() const;
  /// Of the file.
  uint64_t bytes() const;

 private:
  struct State;
  explicit CacheEntry(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const CachedTensor& find(std::string_view name) const;
  const std::byte* brick(const CachedTensor& tensor, int64_t channel,
                         const std::array<int64_t, 3>& place) const;

  std::shared_ptr<const State> state_;
};

/// The bytes of an entry. Whole numbers that fit are kept as uint8, int16 or uint16, others as float32.
/// Requires: `key` has 64 letters; voxels [C, X, Y, Z] float32.
Bytes encode_cache_entry(std::string_view key, const std::map<std::string, Volume, std::less<>>& volumes);
/// Writes beside `path`, syncs, renames: readers see a whole entry or none, however many write it at once.
/// Throws Error (environment).
void write_cache_entry(Storage& storage, const std::filesystem::path& path, const Bytes& entry);

}  // namespace larmor
