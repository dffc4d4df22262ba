// A zip archive in memory, held or mapped, read by strict rules: what .npz files are, and archives of
// documents. Source: PKWARE APPNOTE 6.3, the parts that NumPy writes (stored, deflated, zip64).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "larmor/formats/bytes.h"
#include "larmor/formats/gzip.h"

namespace larmor {

class ZipArchive {
 public:
  struct Entry {
    std::string name;
    uint64_t packed = 0, size = 0;  // bytes, as both headers say
    uint64_t header = 0, data = 0;  // offsets in the archive
    uint16_t method = 0;            // 0 stored, 8 deflated
    uint32_t crc32 = 0;
  };

  static constexpr uint64_t entries_of_npz = 100'000;

  /// Reads the directory. Throws Error (data): no archive, names that lead elsewhere, doubled names, entries
  /// that overlap, two headers that disagree, encryption, links, more entries
  /// than `most_entries`.
  explicit ZipArchive(Bytes file);
  /// Borrows the bytes.
  ZipArchive(std::span<const std::byte> bytes, uint64_t most_entries);

  const std::vector<Entry>& entries() const { return entries_; }
  /// Throws Error (data): damaged, or larger than its packed bytes and the voxels that it claims allow.
  Bytes extract(const Entry& entry, const ClaimedVoxels& claimed = {}) const;

 private:
  struct Directory {
    uint64_t count = 0, offset = 0, size = 0;
  };
  Directory find_directory() const;
  Entry read_entry(uint64_t& place, uint64_t end) const;
  void read_local_header(Entry& entry, uint16_t flags) const;
  void check_overlap(uint64_t directory) const;
  void read_directory();
  template <class Number>
  Number number(uint64_t offset) const;

  Bytes held_;
  std::span<const std::byte> file_;
  uint64_t most_entries_ = entries_of_npz;
  std::vector<Entry> entries_;
};

}  // namespace larmor
