#include "larmor/formats/numpy/zip_archive.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

constexpr uint32_t local_signature = 0x04034b50, entry_signature = 0x02014b50, end_signature = 0x06054b50;
constexpr uint32_t end64_signature = 0x06064b50, locator64_signature = 0x07064b50;
constexpr uint64_t local_bytes = 30, entry_bytes = 46, end_bytes = 22, end64_bytes = 56, locator64_bytes = 20;
constexpr uint32_t in_zip64 = 0xffffffff;  // the number stands in the zip64 extra field

[[noreturn]] void damaged(std::string_view what) {
  fail(Exit::data, text("the zip archive is damaged: ", what), "fetch or write the file again");
}

void check_name(const std::string& name) {
  const bool drive = name.size() >= 2 && std::isalpha(static_cast<unsigned char>(name[0])) && name[1] == ':';
  bool leads_out = name.empty() || name.front() == '/' || drive || name.find('\\') != std::string::npos ||
                   name.find('\0') != std::string::npos;
  for (const std::string& part : split(name, '/')) leads_out = leads_out || part == "..";
  if (leads_out)
    fail(Exit::data, text("the zip archive holds an entry whose name leads elsewhere: \"", name, "\""));
}

}  // namespace

/// Little-endian. Throws when the archive ends before.
template <class Number>
Number ZipArchive::number(uint64_t offset) const {
  if (offset > file_.size() || sizeof(Number) > file_.size() - offset) damaged("it ends inside a header");
  Number value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    value = static_cast<Number>(
        value | static_cast<Number>(std::to_integer<Number>(file_.data()[offset + i]) << (8 * i)));
  }
  return value;
}

ZipArchive::Directory ZipArchive::find_directory() const {
  if (file_.size() < end_bytes) damaged("it has no directory");
  // The end record is last but for a comment of at most 65535 bytes, whose length it tells.
  const uint64_t last = file_.size() - end_bytes;
  const uint64_t first = last - std::min<uint64_t>(last, 0xffff);
  uint64_t end = last;
  while (number<uint32_t>(end) != end_signature ||
         number<uint16_t>(end + 20) != file_.size() - end - end_bytes) {
    if (end == first) damaged("it has no directory; the file may be cut short");
    --end;
  }
  if (number<uint16_t>(end + 4) != 0 || number<uint16_t>(end + 6) != 0) damaged("it is one part of several");
  Directory directory{number<uint16_t>(end + 10), number<uint32_t>(end + 16), number<uint32_t>(end + 12)};
  uint64_t limit = end;
  if (end >= locator64_bytes && number<uint32_t>(end - locator64_bytes) == locator64_signature) {
    const auto end64 = number<uint64_t>(end - locator64_bytes + 8);
    if (end64 > end || end - end64 < end64_bytes || number<uint32_t>(end64) != end64_signature) {
      damaged("its zip64 record is not where it should be");
    }
    directory = {number<uint64_t>(end64 + 32), number<uint64_t>(end64 + 48), number<uint64_t>(end64 + 40)};
    limit = end64;
  }
  if (directory.count > most_entries_)
    fail(Exit::data, text("the zip archive holds ", directory.count, " entries"));
  if (directory.offset > limit || directory.size > limit - directory.offset)
    damaged("its directory is not inside it");
  return directory;
}

ZipArchive::Entry ZipArchive::read_entry(uint64_t& place, uint64_t end) const {
  if (place > end || end - place < entry_bytes || number<uint32_t>(place) != entry_signature) {
    damaged("its directory does not hold what it claims");
  }
  const auto flags = number<uint16_t>(place + 8);
  Entry entry;
  entry.method = number<uint16_t>(place + 10);
  entry.crc32 = number<uint32_t>(place + 16);
  entry.packed = number<uint32_t>(place + 20);
  entry.size = number<uint32_t>(place + 24);
  entry.header = number<uint32_t>(place + 42);
  const uint64_t name = number<uint16_t>(place + 28), extra = number<uint16_t>(place + 30);
  const uint64_t next = place + entry_bytes + name + extra + number<uint16_t>(place + 32);
  if (next > end) damaged("its directory does not hold what it claims");
  for (uint64_t i = 0; i < name; ++i)
    entry.name += std::to_integer<char>(file_.data()[place + entry_bytes + i]);
  check_name(entry.name);
  if (flags & 1) fail(Exit::data, text("the zip entry ", entry.name, " is encrypted"));
  const uint32_t mode = number<uint32_t>(place + 38) >> 16 & 0170000;
  if (mode != 0 && mode != 0100000 && mode != 0040000)
    fail(Exit::data, text("the zip entry ", entry.name, " is a link or device"));

  uint64_t field = place + entry_bytes + name;
  const uint64_t extra_end = field + extra;
  while (extra_end - field >= 4) {
    const uint64_t field_end = field + 4 + number<uint16_t>(field + 2);
    if (field_end > extra_end) damaged("an extra field is longer than its entry");
    if (number<uint16_t>(field) == 1) {
      uint64_t value = field + 4;
      for (uint64_t* const wide : {&entry.size, &entry.packed, &entry.header}) {
        if (*wide != in_zip64) continue;
        if (value + 8 > field_end) damaged("a zip64 field is cut short");
        *wide = number<uint64_t>(value);
        value += 8;
      }
    }
    field = field_end;
  }
  read_local_header(entry, flags);
  place = next;
  return entry;
}

void ZipArchive::read_local_header(Entry& entry, uint16_t flags) const {
  if (entry.header > file_.size() || number<uint32_t>(entry.header) != local_signature) {
    damaged(text("entry ", entry.name, " is not where the directory says"));
  }
  const uint64_t name = number<uint16_t>(entry.header + 26), extra = number<uint16_t>(entry.header + 28);
  entry.data = entry.header + local_bytes + name + extra;
  if (entry.data > file_.size() || entry.packed > file_.size() - entry.data) {
    damaged(text("entry ", entry.name, " is cut short"));
  }
  bool same = name == entry.name.size() && number<uint16_t>(entry.header + 8) == entry.method;
  for (uint64_t i = 0; same && i < name; ++i) {
    same = std::to_integer<char>(file_.data()[entry.header + local_bytes + i]) == entry.name[i];
  }
  constexpr uint16_t sizes_follow_data = 8;
  if (!(flags & sizes_follow_data)) {
    const auto packed = number<uint32_t>(entry.header + 18), size = number<uint32_t>(entry.header + 22);
    same = same && (packed == in_zip64 || packed == entry.packed) && (size == in_zip64 || size == entry.size);
  }
  if (!same) damaged(text("the two headers of entry ", entry.name, " disagree"));
}

void ZipArchive::check_overlap(uint64_t directory) const {
  std::vector<std::pair<uint64_t, uint64_t>> spans;
  spans.reserve(entries_.size() + 1);
  for (const Entry& entry : entries_) spans.emplace_back(entry.header, entry.data + entry.packed);
  spans.emplace_back(directory, directory);
  std::sort(spans.begin(), spans.end());
  for (std::size_t i = 1; i < spans.size(); ++i) {
    if (spans[i].first < spans[i - 1].second) damaged("entries overlap");
  }
}

ZipArchive::ZipArchive(Bytes file) : held_(std::move(file)), file_(held_.view()) { read_directory(); }

ZipArchive::ZipArchive(std::span<const std::byte> bytes, uint64_t most_entries)
    : file_(bytes), most_entries_(most_entries) {
  read_directory();
}

void ZipArchive::read_directory() {
  const Directory directory = find_directory();
  std::set<std::string> names;
  uint64_t place = directory.offset;
  for (uint64_t i = 0; i < directory.count; ++i) {
    entries_.push_back(read_entry(place, directory.offset + directory.size));
    if (!names.insert(entries_.back().name).second)
      damaged(text("it holds ", entries_.back().name, " twice"));
  }
  check_overlap(directory.offset);
}

Bytes ZipArchive::extract(const Entry& entry, const ClaimedVoxels& claimed) const {
  const auto packed = file_.subspan(entry.data, entry.packed);
  const InflateLimits limits;
  uint64_t largest = limits.largest(entry.packed);
  if (entry.size > largest && entry.size <= limits.bytes && entry.method == 8 && claimed) {
    constexpr std::size_t header_bytes = std::size_t{1} << 17;
    largest += claimed(inflate_beginning(packed, header_bytes).view());
  }
  if (entry.size > std::min(largest, limits.bytes)) {
    fail(Exit::data,
         text("the zip entry ", entry.name, " claims ", human_bytes(entry.size), ", more than is read"));
  }
  Bytes plain;
  if (entry.method == 0) {
    if (entry.size != entry.packed) damaged(text("entry ", entry.name, " has two lengths"));
    plain = Bytes(entry.size);
    std::copy(packed.begin(), packed.end(), plain.data());
  } else if (entry.method == 8) {
    plain = inflate(packed, entry.size);
  } else {
    fail(Exit::data,
         text("the zip entry ", entry.name, " is packed by method ", entry.method, ", which is not read"),
         "write it with numpy.savez or numpy.savez_compressed");
  }
  if (crc32(plain.view()) != entry.crc32) damaged(text("the checksum of entry ", entry.name, " is wrong"));
  return plain;
}

}  // namespace larmor
