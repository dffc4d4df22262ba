#include "larmor/formats/dicom/dicom_header.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/dicom/dicom_header_reader.h"
#include "larmor/formats/gzip.h"
#include "larmor/formats/stored_array.h"

namespace larmor {

namespace {

constexpr uint64_t largest_file = InflateLimits{}.bytes;
constexpr const char* deflated_syntax = "1.2.840.10008.1.2.1.99";

DicomEncoding encoding_of(const std::string& syntax) {
  if (syntax == "1.2.840.10008.1.2") return {false, false};
  if (syntax == "1.2.840.10008.1.2.2") return {true, true};
  return {true, false};
}

/// Nothing when `bytes` end before the pixels begin.
std::optional<DicomHeader> scan_header(std::span<const std::byte> bytes, uint64_t total,
                                       const DicomMeta& meta, DicomText texts) {
  DicomHeader header;
  header.transfer_syntax = meta.transfer_syntax;
  header.bytes = total;
  const DicomEncoding encoding = encoding_of(meta.transfer_syntax);
  DicomHeaderReader reader(header, encoding.big_endian, texts);
  const DicomScan scan = scan_dicom(bytes, total, meta.end, encoding, reader.visitor());
  if (!scan.complete) return std::nullopt;
  header.pixels = scan.pixels;
  reader.finish();
  return header;
}

/// A data set that is deflated as a whole, behind its meta group as it was.
Bytes unpack_data_set(const Bytes& bytes, const DicomMeta& meta) {
  Bytes whole = inflate(bytes.view().subspan(meta.end), InflateLimits{}, meta.end);
  std::memcpy(whole.data(), bytes.data(), meta.end);
  return whole;
}

Bytes unpacked(Bytes bytes) { return is_gzip(bytes.view()) ? gunzip(bytes.view()).bytes : std::move(bytes); }

}  // namespace

bool DicomHeader::is_radiograph() const {
  constexpr std::array<std::string_view, 9> modalities = {"CR", "DX", "RG", "MG", "PX",
                                                          "IO", "RF", "XA", "DR"};
  return std::find(modalities.begin(), modalities.end(), modality) != modalities.end();
}

const DicomPlane& DicomHeader::plane_of(int64_t frame) const {
  return frame_planes.empty() ? plane : frame_planes[static_cast<std::size_t>(frame)];
}

namespace {

DicomFile parse_file(Bytes bytes, DicomText texts) {
  if (!looks_like_dicom(bytes.view())) fail(Exit::data, "does not begin like a DICOM file");
  const DicomMeta meta = scan_dicom_meta(bytes.view(), bytes.size());
  if (meta.transfer_syntax.empty())
    fail(Exit::data, "the DICOM file does not say its transfer syntax (0002,0010)");
  DicomFile file;
  file.bytes = meta.transfer_syntax == deflated_syntax ? unpack_data_set(bytes, meta) : std::move(bytes);
  file.header = *scan_header(file.bytes.view(), file.bytes.size(), meta, texts);  // all bytes are there
  return file;
}

}  // namespace

DicomFile parse_dicom(Bytes bytes) { return parse_file(std::move(bytes), DicomText::none); }

DicomFile open_dicom_file(const std::filesystem::path& path) {
  return parse_dicom(unpacked(read_file(path, largest_file)));
}

bool holds_packed_dicom(const RegularFile& file) {
  constexpr std::size_t plain = std::size_t{128} << 10, packed = plain + plain / 2;
  Bytes start(packed);
  start.shorten(file.read_at(0, start.view()));
  return is_gzip(start.view()) && looks_like_dicom(gunzip_beginning(start.view(), plain).view());
}

std::optional<DicomHeader> read_dicom_header(const std::filesystem::path& path, DicomText texts) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  const RegularFile file = open_regular(path);
  // Headers are short as a rule; those of many frames are not.
  for (uint64_t size = 16384;; size *= 32) {
    Bytes part(std::min(size, file.size()));
    if (file.read_at(0, part.view()) != part.size()) return std::nullopt;
    if (is_gzip(part.view()) && !looks_like_dicom(part.view())) {
      if (!holds_packed_dicom(file)) return std::nullopt;
      return parse_file(unpacked(read_file(file, largest_file)), texts).header;
    }
    if (!looks_like_dicom(part.view())) return std::nullopt;
    if (file.size() > largest_file)
      fail(Exit::data, text("is ", human_bytes(file.size()), " long, more than the ",
                            human_bytes(largest_file), " that are read"));
    const DicomMeta meta = scan_dicom_meta(part.view(), file.size());
    if (!meta.complete) continue;
    if (meta.transfer_syntax.empty() || meta.transfer_syntax == deflated_syntax)
      return parse_file(unpacked(read_file(file, largest_file)), texts).header;
    if (auto header = scan_header(part.view(), file.size(), meta, texts)) return header;
  }
}

}  // namespace larmor
