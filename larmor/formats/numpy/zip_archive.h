// A zip archive held in memory, read by strict rules: what .npz files are.
// Source: PKWARE APPNOTE 6.3, the parts that NumPy writes (stored, deflated, zip64).
#pragma once

#include <cstdint>
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

  /// Reads the directory. Throws Error (data): no archive, names that lead elsewhere, doubled names, entries
  /// that overlap, two headers that disagree, encryption, links, more than 100,000 entries.
  explicit ZipArchive(Bytes file);

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
  template <class Number>
  Number number(uint64_t offset) const;

  Bytes file_;
  std::vector<Entry> entries_;
};

}  // namespace larmor
