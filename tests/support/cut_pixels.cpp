#include "tests/support/cut_pixels.h"

#include <cstring>
#include <utility>

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/formats/dicom/dicom.h"
#include "larmor/formats/dicom/dicom_header.h"
#include "larmor/formats/dicom/dicom_scan.h"

#include "tests/support/image_files.h"

namespace larmor::testing {

namespace {

Bytes bytes_of_text(const std::string& text) {
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string item(const std::string& piece) {
  // Not padded to an even length: a byte of padding cannot be told from the byte that was cut away.
  return std::string("\xfe\xff\x00\xe0", 4) + published(static_cast<uint32_t>(piece.size())) + piece;
}

}  // namespace

std::optional<std::string> voxels_of(const std::string& file) {
  try {
    const StoredVolume volume = parse_dicom_volume(bytes_of_text(file));
    if (!volume.fault.empty()) return std::nullopt;
    const auto view = volume.array.file.view().subspan(volume.array.offset, volume.array.bytes);
    return std::string(reinterpret_cast<const char*>(view.data()), view.size());
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data) << error.message();
    return std::nullopt;
  }
}

CompressedFile::CompressedFile(std::string file) : file_(std::move(file)) {
  const DicomFile parsed = parse_dicom(bytes_of_text(file_));
  syntax_ = parsed.header.transfer_syntax;
  head_ = file_.substr(0, parsed.header.pixels.begin);
  for (const auto piece : find_fragments(parsed.bytes.view(), parsed.header.pixels.begin))
    pieces_.emplace_back(reinterpret_cast<const char*>(piece.data()), piece.size());
}

std::string CompressedFile::with_last_piece(std::size_t kept, const std::string& ending) const {
  std::string file = head_;
  for (std::size_t i = 0; i + 1 < pieces_.size(); ++i) file += item(pieces_[i]);
  return file + item(pieces_.back().substr(0, kept) + ending) + std::string("\xfe\xff\xdd\xe0\0\0\0\0", 8);
}

bool CompressedFile::is_jpeg() const { return pieces_.back().starts_with("\xff\xd8"); }

}  // namespace larmor::testing
