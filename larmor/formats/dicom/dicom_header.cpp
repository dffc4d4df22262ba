#include "larmor/formats/dicom/dicom_header.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/dicom/dicom_codec.h"
#include "larmor/formats/gzip.h"
#include "larmor/formats/stored_array.h"

namespace larmor {

namespace {

constexpr DicomTag shared_groups = 0x52009229, frame_groups = 0x52009230;
constexpr DicomTag tables = 0x00283010, table_form = 0x00283002, table_entries = 0x00283006;
constexpr uint64_t largest_file = InflateLimits{}.bytes;
constexpr const char* deflated_syntax = "1.2.840.10008.1.2.1.99";

DicomEncoding encoding_of(const std::string& syntax) {
  if (syntax == "1.2.840.10008.1.2") return {false, false};
  if (syntax == "1.2.840.10008.1.2.2") return {true, true};
  return {true, false};
}

std::string_view words_of(std::span<const std::byte> value) {
  std::string_view words(reinterpret_cast<const char*>(value.data()), value.size());
  constexpr std::string_view blank("\0 ", 2);
  const auto first = words.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  words.remove_prefix(first);
  return words.substr(0, words.find_last_not_of(blank) + 1);
}

/// Code words are letters, digits and underscores; anything else in their place is not kept.
std::string code_word(std::span<const std::byte> value, std::string_view also = "_ ") {
  const std::string_view words = words_of(value);
  const bool sound = words.size() <= 64 && std::all_of(words.begin(), words.end(), [&](char letter) {
                       return (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
                              also.find(letter) != std::string_view::npos;
                     });
  return sound ? std::string(words) : std::string();
}

/// Numbers written as text with backslashes between them; empty when one of them is none.
std::vector<double> decimals(std::span<const std::byte> value) {
  std::vector<double> numbers;
  if (words_of(value).empty()) return numbers;
  for (const std::string& part : split(words_of(value), '\\')) {
    std::string_view word = trim(part);
    if (word.starts_with('+')) word.remove_prefix(1);
    double number = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (code != std::errc{} || end != word.data() + word.size() || !std::isfinite(number)) return {};
    numbers.push_back(number);
  }
  return numbers;
}

template <std::size_t count>
void set(std::optional<std::array<double, count>>& field, std::span<const std::byte> value) {
  const auto numbers = decimals(value);
  if (numbers.size() != count) return;
  field.emplace();
  std::copy(numbers.begin(), numbers.end(), field->begin());
}

void set(std::optional<double>& field, std::span<const std::byte> value) {
  const auto numbers = decimals(value);
  if (!numbers.empty()) field = numbers.front();
}

/// Texts are looked at whole, and one of a few kilobytes cannot be an honest one. Windows may be listed by
/// frame.
void check_length(DicomTag tag, std::size_t bytes) {
  constexpr std::size_t most = 1024, most_of_list = 65536;
  const bool is_list = tag == 0x00281050 || tag == 0x00281051;
  if (bytes <= (is_list ? most_of_list : most) || (tag == table_entries && bytes <= 2 * most_of_list)) return;
  fail(Exit::data,
       text("the DICOM data is damaged: the element ", to_text_of_tag(tag), " is ", bytes,
            " bytes long, where not more than ", is_list ? most_of_list : most, " are read"),
       "fetch the file again, or write it anew with the program that made it");
}

/// Puts elements where they belong.
class HeaderReader {
 public:
  HeaderReader(DicomHeader& header, bool big_endian) : header_(header), big_endian_(big_endian) {}

  DicomVisitor visitor() {
    return {[](DicomTag tag) { return wants(tag); },
            [](DicomTag tag) {
              return tag == shared_groups || tag == frame_groups || tag == tables || is_group(tag);
            },
            [this](const DicomPath& path, DicomTag tag, std::span<const std::byte> value) {
              if (path.size() == 1 && path[0].sequence == tables && path[0].item == 0)
                return take_table(tag, value);
              // Vendors repeat such elements in sequences of their own, with other values.
              if (!path.empty() && (path.size() != 2 || !is_group(path.back().sequence))) return;
              check_length(tag, value.size());
              if (path.empty()) {
                take(tag, value);
                take_plane(header_.plane, tag, value);
              } else if (path.front().sequence == shared_groups) {
                take_plane(header_.plane, tag, value);
              } else if (path.front().sequence == frame_groups) {
                take_plane(plane_of_item(path.front().item), tag, value);
              }
            }};
  }

  void finish() {
    if (centre_ && width_ && *width_ >= 1) {
      header_.window = DicomWindow{*centre_, *width_, function_.empty() ? "LINEAR" : function_};
    }
    finish_table();
    const auto frames = static_cast<std::size_t>(std::max<int64_t>(header_.frames, 0));
    if (header_.frame_planes.size() != frames) header_.frame_planes.clear();
  }

 private:
  /// Plane position, plane orientation, pixel measures, pixel value transformation.
  static bool is_group(DicomTag tag) {
    return tag == 0x00209113 || tag == 0x00209116 || tag == 0x00289110 || tag == 0x00289145;
  }

  /// What is said of all frames holds for each until it says otherwise. Frames beyond the last that is
  /// claimed are nobody's.
  DicomPlane& plane_of_item(std::size_t item) {
    if (static_cast<int64_t>(item) >= header_.frames || header_.frames > most_frames) return nobody_;
    header_.frame_planes.reserve(static_cast<std::size_t>(header_.frames));
    if (header_.frame_planes.size() <= item) header_.frame_planes.resize(item + 1, header_.plane);
    return header_.frame_planes[item];
  }

  static bool wants(DicomTag tag) {
    switch (tag) {
      case 0x00080008:  // ImageType
      case 0x00080060:  // Modality
      case 0x00180050:  // SliceThickness
      case 0x00180088:  // SpacingBetweenSlices
      case 0x00181164:  // ImagerPixelSpacing
      case 0x0020000e:  // SeriesInstanceUID
      case 0x00200032:  // ImagePositionPatient
      case 0x00200037:  // ImageOrientationPatient
      case 0x00280002:  // SamplesPerPixel
      case 0x00280004:  // PhotometricInterpretation
      case 0x00280006:  // PlanarConfiguration
      case 0x00280008:  // NumberOfFrames
      case 0x00280010:  // Rows
      case 0x00280011:  // Columns
      case 0x00280030:  // PixelSpacing
      case 0x00280100:  // BitsAllocated
      case 0x00280101:  // BitsStored
      case 0x00280102:  // HighBit
      case 0x00280103:  // PixelRepresentation
      case 0x00281050:  // WindowCenter
      case 0x00281051:  // WindowWidth
      case 0x00281052:  // RescaleIntercept
      case 0x00281053:  // RescaleSlope
      case 0x00281056:  // VOILUTFunction
      case table_form:
      case table_entries:
        return true;
      default:
        return false;
    }
  }

  int short_of(std::span<const std::byte> value) const {
    if (value.size() < 2) return 0;
    const int low = std::to_integer<int>(value[big_endian_ ? 1 : 0]);
    return std::to_integer<int>(value[big_endian_ ? 0 : 1]) << 8 | low;
  }

  void take(DicomTag tag, std::span<const std::byte> value) {
    switch (tag) {
      case 0x00080008:
        header_.is_mosaic = words_of(value).find("MOSAIC") != std::string_view::npos;
        break;
      case 0x00080060:
        header_.modality = code_word(value);
        break;
      case 0x00180088:
        set(header_.step, value);
        break;
      case 0x0020000e:
        header_.series = code_word(value, ".");
        break;
      case 0x00280002:
        header_.samples = short_of(value);
        break;
      case 0x00280004:
        header_.photometric = code_word(value);
        break;
      case 0x00280006:
        header_.by_plane = short_of(value) == 1;
        break;
      case 0x00280008: {
        const auto numbers = decimals(value);
        const bool sound = numbers.size() == 1 && numbers[0] >= 0 && numbers[0] < 1e9;
        if (!numbers.empty()) header_.frames = sound ? static_cast<int64_t>(numbers[0]) : 0;
        break;
      }
      default:
        take_encoding(tag, value);
    }
  }

  void take_encoding(DicomTag tag, std::span<const std::byte> value) {
    switch (tag) {
      case 0x00280010:
        header_.rows = short_of(value);
        break;
      case 0x00280011:
        header_.columns = short_of(value);
        break;
      case 0x00280100:
        header_.bits_allocated = short_of(value);
        break;
      case 0x00280101:
        header_.bits_stored = short_of(value);
        break;
      case 0x00280102:
        header_.high_bit = short_of(value);
        break;
      case 0x00280103:
        header_.is_signed = short_of(value) == 1;
        break;
      case 0x00281050:
        set(centre_, value);
        break;
      case 0x00281051:
        set(width_, value);
        break;
      case 0x00281056:
        function_ = code_word(value);
        break;
      default:
        break;
    }
  }

  void take_table(DicomTag tag, std::span<const std::byte> value) {
    check_length(tag, value.size());
    if (tag == table_entries) entries_.assign(value.begin(), value.end());
    if (tag != table_form || value.size() != form_.size() * 2) return;
    for (std::size_t i = 0; i < form_.size(); ++i) form_[i] = short_of(value.subspan(2 * i));
  }

  /// Entries of 8 bits may lie two in a word. What does not fit together is no table.
  void finish_table() {
    const auto count = static_cast<std::size_t>(form_[0] == 0 ? 65536 : form_[0]);
    const int bits = form_[2];
    const bool has_words = entries_.size() >= 2 * count;
    if (bits < 8 || bits > 16 || (!has_words && (bits != 8 || entries_.size() < count))) return;
    DicomTable table{.first = header_.is_signed ? static_cast<int16_t>(form_[1]) : form_[1], .bits = bits};
    const std::span<const std::byte> all = entries_;
    const int mask = (1 << bits) - 1;
    for (std::size_t i = 0; i < count; ++i) {
      const int entry = has_words ? short_of(all.subspan(2 * i)) : std::to_integer<int>(all[i]);
      table.entries.push_back(static_cast<uint16_t>(entry & mask));
    }
    header_.table = std::move(table);
  }

  static void take_plane(DicomPlane& plane, DicomTag tag, std::span<const std::byte> value) {
    switch (tag) {
      case 0x00200032:
        return set(plane.position, value);
      case 0x00200037:
        return set(plane.orientation, value);
      case 0x00280030:
        return set(plane.spacing, value);
      case 0x00181164:  // of the detector, where the patient's is not known
        if (!plane.spacing) set(plane.spacing, value);
        return;
      case 0x00180050:
        return set(plane.thickness, value);
      case 0x00281052:
      case 0x00281053: {
        const auto numbers = decimals(value);
        if (numbers.empty()) return;
        (tag == 0x00281053 ? plane.slope : plane.intercept) = numbers.front();
        plane.is_rescaled = true;
        return;
      }
      default:
        return;
    }
  }

  DicomHeader& header_;
  bool big_endian_;
  DicomPlane nobody_;
  std::optional<double> centre_, width_;
  std::string function_;
  std::array<int, 3> form_{};  // of a table: entries, first value, bits of an entry
  std::vector<std::byte> entries_;
};

/// Nothing when `bytes` end before the pixels begin.
std::optional<DicomHeader> scan_header(std::span<const std::byte> bytes, uint64_t total,
                                       const DicomMeta& meta) {
  DicomHeader header;
  header.transfer_syntax = meta.transfer_syntax;
  header.bytes = total;
  const DicomEncoding encoding = encoding_of(meta.transfer_syntax);
  HeaderReader reader(header, encoding.big_endian);
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

DicomFile parse_dicom(Bytes bytes) {
  if (!looks_like_dicom(bytes.view())) fail(Exit::data, "does not begin like a DICOM file");
  const DicomMeta meta = scan_dicom_meta(bytes.view(), bytes.size());
  if (meta.transfer_syntax.empty())
    fail(Exit::data, "the DICOM file does not say its transfer syntax (0002,0010)");
  DicomFile file;
  file.bytes = meta.transfer_syntax == deflated_syntax ? unpack_data_set(bytes, meta) : std::move(bytes);
  file.header = *scan_header(file.bytes.view(), file.bytes.size(), meta);  // all bytes are there
  return file;
}

DicomFile open_dicom_file(const std::filesystem::path& path) {
  return parse_dicom(unpacked(read_file(path, largest_file)));
}

bool holds_packed_dicom(const RegularFile& file) {
  constexpr std::size_t plain = std::size_t{128} << 10, packed = plain + plain / 2;
  Bytes start(packed);
  start.shorten(file.read_at(0, start.view()));
  return is_gzip(start.view()) && looks_like_dicom(gunzip_beginning(start.view(), plain).view());
}

std::optional<DicomHeader> read_dicom_header(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  const RegularFile file = open_regular(path);
  // Headers are short as a rule; those of many frames are not.
  for (uint64_t size = 16384;; size *= 32) {
    Bytes part(std::min(size, file.size()));
    if (file.read_at(0, part.view()) != part.size()) return std::nullopt;
    if (is_gzip(part.view()) && !looks_like_dicom(part.view())) {
      if (!holds_packed_dicom(file)) return std::nullopt;
      return parse_dicom(unpacked(read_file(file, largest_file))).header;
    }
    if (!looks_like_dicom(part.view())) return std::nullopt;
    if (file.size() > largest_file)
      fail(Exit::data, text("is ", human_bytes(file.size()), " long, more than the ",
                            human_bytes(largest_file), " that are read"));
    const DicomMeta meta = scan_dicom_meta(part.view(), file.size());
    if (!meta.complete) continue;
    if (meta.transfer_syntax.empty() || meta.transfer_syntax == deflated_syntax)
      return parse_dicom(unpacked(read_file(file, largest_file))).header;
    if (auto header = scan_header(part.view(), file.size(), meta)) return header;
  }
}

}  // namespace larmor
