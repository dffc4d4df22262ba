#include "larmor/formats/quick_check.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "larmor/base/files/regular_file.h"
#include "larmor/formats/dicom/dicom.h"
#include "larmor/formats/dicom/dicom_scan.h"
#include "larmor/formats/dicom/dicom_series.h"
#include "larmor/formats/gzip.h"
#include "larmor/formats/nifti/nifti.h"
#include "larmor/formats/pictures/jpeg.h"
#include "larmor/formats/pictures/png.h"
#include "larmor/formats/text_header/text_header.h"
#include "larmor/formats/text_header/text_header_volume.h"

namespace larmor {
namespace {

constexpr std::size_t searched_end_bytes = std::size_t{64} << 10, header_bytes = 4096;

struct Ends {
  uint64_t size = 0;
  std::vector<std::byte> head, tail;  // the same bytes twice in a short file
};

std::vector<std::byte> read_part(const RegularFile& file, uint64_t from, std::size_t bytes) {
  std::vector<std::byte> part(bytes);
  part.resize(file.read_at(from, part));
  return part;
}

// Nothing when the file has become shorter meanwhile.
std::optional<Ends> read_ends(const RegularFile& file) {
  Ends ends;
  ends.size = file.size();
  const auto bytes = static_cast<std::size_t>(std::min<uint64_t>(ends.size, searched_end_bytes));
  ends.head = read_part(file, 0, bytes);
  ends.tail = read_part(file, ends.size - bytes, bytes);
  if (ends.head.size() != bytes || ends.tail.size() != bytes) return std::nullopt;
  return ends;
}

template <class Number>
Number number_at(std::span<const std::byte> bytes, std::size_t offset) {
  static_assert(std::endian::native == std::endian::little);
  Number number{};
  std::memcpy(&number, bytes.data() + offset, sizeof(Number));
  return number;
}

// How long a single-file NIfTI with this beginning should be; 0 when it does not say.
uint64_t expected_bytes(std::span<const std::byte> beginning) {
  const auto claim = claim_of_nifti(beginning);
  return claim ? claim->offset + claim->voxels : 0;
}

// The record that ends a zip archive says where its directory is. Source: PKWARE APPNOTE 6.3.
bool has_zip_directory(const Ends& ends) {
  constexpr std::string_view local = "PK\3\4", last = "PK\5\6";
  constexpr std::size_t record_bytes = 22;
  if (ends.size < record_bytes || std::memcmp(ends.head.data(), local.data(), 4) != 0) return false;
  const auto record = std::span(ends.tail).last(record_bytes);
  if (std::memcmp(record.data(), last.data(), 4) != 0) return false;
  const uint64_t bytes = number_at<uint32_t>(record, 12), offset = number_at<uint32_t>(record, 16);
  return offset + bytes + record_bytes == ends.size;
}

bool ends_with(const Ends& ends, std::string_view last) {
  return ends.tail.size() >= last.size() &&
         std::memcmp(ends.tail.data() + ends.tail.size() - last.size(), last.data(), last.size()) == 0;
}

// The chunk without data that ends a PNG file. Source: W3C PNG, third edition.
constexpr std::string_view png_end("\0\0\0\0IEND\xae\x42\x60\x82", 12);

bool file_looks_sound(const std::filesystem::path& path) {
  const auto ends = read_ends(open_regular(path));
  if (!ends || ends->size == 0) return false;
  if (looks_like_png(ends->head)) return ends_with(*ends, png_end);
  if (looks_like_jpeg(ends->head)) return ends_with(*ends, "\xff\xd9");
  if (looks_like_nrrd(ends->head) || looks_like_metaimage(ends->head))
    return text_header_looks_sound(path, ends->head);
  if (looks_like_dicom(ends->head)) return dicom_looks_sound(path);
  if (is_gzip(ends->head)) {
    const uint64_t expected = expected_bytes(gunzip_beginning(ends->head, header_bytes).view());
    const auto claimed = number_at<uint32_t>(ends->tail, ends->tail.size() - 4);
    return expected > 0 && static_cast<uint32_t>(expected) == claimed;
  }
  if (const uint64_t expected = expected_bytes(ends->head)) return expected <= ends->size;
  return has_zip_directory(*ends);
}

}  // namespace

bool looks_sound(const std::filesystem::path& path) {
  if (names_dicom_series(path)) return dicom_looks_sound(path);
  try {
    return file_looks_sound(path);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace larmor
