#include "tests/support/dicom_files.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <libdeflate.h>

#include "larmor/base/text.h"

namespace larmor::testing {

namespace {

std::string ordered(uint64_t value, int bytes, bool big) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * (big ? bytes - 1 - i : i)));
  return out;
}

bool has_long_length(std::string_view type) {
  return type == "OB" || type == "OW" || type == "OF" || type == "OD" || type == "SQ" || type == "UN" ||
         type == "UT";
}

std::string written(uint32_t tag, std::string_view type, std::string_view value, bool types, bool big,
                    bool open) {
  const uint64_t length = open ? 0xffffffff : value.size();
  std::string out = ordered(tag >> 16, 2, big) + ordered(tag & 0xffff, 2, big);
  if (!types) {
    out += ordered(length, 4, big);
  } else if (has_long_length(type)) {
    out += std::string(type) + std::string(2, '\0') + ordered(length, 4, big);
  } else {
    out += std::string(type) + ordered(length, 2, big);
  }
  return out + std::string(value);
}

std::string deflated(const std::string& plain) {
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> packer(
      libdeflate_alloc_compressor(6), &libdeflate_free_compressor);
  std::string out(libdeflate_deflate_compress_bound(packer.get(), plain.size()), '\0');
  out.resize(libdeflate_deflate_compress(packer.get(), plain.data(), plain.size(), out.data(), out.size()));
  return out;
}

}  // namespace

DicomBytes::DicomBytes(std::string transfer_syntax) : syntax_(std::move(transfer_syntax)) {
  put(0x00080060, "CS", "CT").put(0x0020000e, "UI", "1.2.3").put(0x00280004, "CS", "MONOCHROME2");
  put(0x00200037, "DS", "1\\0\\0\\0\\1\\0").place(10, 20, 30).put(0x00280030, "DS", "0.75\\0.5");
  put_short(0x00280002, 1).put_short(0x00280010, 2).put_short(0x00280011, 3).put_short(0x00280100, 16);
  put_short(0x00280101, 16).put_short(0x00280102, 15).put_short(0x00280103, 0);
  pixels_of({0, 1, 2, 3, 4, 5});
}

DicomBytes& DicomBytes::put(uint32_t tag, const char* type, std::string_view value) {
  std::string even(value);
  if (even.size() % 2 != 0) even += std::string_view(type) == "UI" ? '\0' : ' ';
  elements_[tag] = {type, std::move(even)};
  return *this;
}

DicomBytes& DicomBytes::put_short(uint32_t tag, int value) {
  return put(tag, "US", number(static_cast<uint64_t>(value), 2));
}

DicomBytes& DicomBytes::drop(uint32_t tag) {
  elements_.erase(tag);
  return *this;
}

DicomBytes& DicomBytes::place(double x, double y, double z) {
  return put(0x00200032, "DS", text(x, '\\', y, '\\', z));
}

DicomBytes& DicomBytes::pixels_of(const std::vector<int>& values, int bits) {
  std::string bytes;
  for (const int value : values) bytes += number(static_cast<uint64_t>(value), bits / 8);
  return put(0x7fe00010, bits == 8 ? "OB" : "OW", bytes);
}

DicomBytes& DicomBytes::fragments_of(const std::vector<std::string>& pieces) {
  std::string bytes = item("");
  for (std::string piece : pieces) {
    if (piece.size() % 2 != 0) piece += '\0';
    bytes += item(piece);
  }
  elements_[0x7fe00010] = {"OB", bytes + written(0xfffee0dd, "", "", false, false, false), true};
  return *this;
}

std::string DicomBytes::element(uint32_t tag, std::string_view type, std::string_view value) const {
  return written(tag, type, value, has_types(), is_big(), false);
}

std::string DicomBytes::item(std::string_view elements, bool open) const {
  std::string bytes = written(0xfffee000, "", elements, false, is_big(), open);
  return open ? bytes + written(0xfffee00d, "", "", false, is_big(), false) : bytes;
}

std::string DicomBytes::open_sequence(uint32_t tag, std::string_view items) const {
  return written(tag, "SQ", items, has_types(), is_big(), true) +
         written(0xfffee0dd, "", "", false, is_big(), false);
}

std::string DicomBytes::data_set() const {
  std::string bytes;
  for (const auto& [tag, value] : elements_)
    bytes += written(tag, value.type, value.bytes, has_types(), is_big(), value.open);
  return syntax_ == deflated_little ? deflated(bytes) : bytes;
}

std::string DicomBytes::whole() const {
  std::string uid = syntax_;
  if (uid.size() % 2 != 0) uid += '\0';
  const std::string meta = written(0x00020010, "UI", uid, true, false, false);
  std::string bytes(128, '\0');
  bytes += "DICM";
  bytes += written(0x00020000, "UL", ordered(meta.size(), 4, false), true, false, false);
  bytes += meta;
  return bytes += data_set();
}

std::string DicomBytes::number(uint64_t value, int bytes) const { return ordered(value, bytes, is_big()); }

}  // namespace larmor::testing
