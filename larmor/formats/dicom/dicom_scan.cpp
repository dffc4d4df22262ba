#include "larmor/formats/dicom/dicom_scan.h"

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

constexpr std::size_t preamble = 128, meta_begin = 132, deepest = 16;
constexpr uint32_t undefined = 0xffffffff;
constexpr DicomTag item_tag = 0xfffee000, item_end = 0xfffee00d, sequence_end = 0xfffee0dd;
constexpr DicomTag transfer_syntax_tag = 0x00020010;

bool is_pixels(DicomTag tag) { return tag == 0x7fe00008 || tag == 0x7fe00009 || tag == 0x7fe00010; }

/// Source: DICOM PS3.5 6.2.
bool is_type(std::string_view name) {
  constexpr std::string_view types =
      "AE AS AT CS DA DS DT FD FL IS LO LT OB OD OF OL OV OW PN SH SL SQ SS ST SV TM UC UI UL UN UR US UT "
      "UV ";
  const auto at = types.find(name);
  return name.size() == 2 && at != std::string_view::npos && at % 3 == 0;
}

/// The bytes given end, the file does not.
struct OutOfBytes {};

struct Element {
  DicomTag tag = 0;
  std::array<char, 2> type{};  // "US"; zeros where the encoding does not say
  uint32_t length = 0;
  std::size_t value = 0;  // offset

  bool is(std::string_view name) const { return std::string_view(type.data(), 2) == name; }
};

class Walker {
 public:
  Walker(std::span<const std::byte> bytes, uint64_t total, std::size_t begin, const DicomVisitor& visitor)
      : bytes_(bytes), total_(total), at_(begin), visitor_(visitor) {}

  /// The data set itself, up to its pixels.
  DicomPixels walk(const DicomEncoding& encoding) {
    while (at_ < total_) {
      const Element element = read_element(encoding, total_);
      if (is_pixels(element.tag))
        return {element.tag, element.value, element.length, element.length == undefined};
      visit(element, encoding, total_);
    }
    return {};
  }

  /// Group 2, which is always written the same way.
  std::size_t walk_meta() {
    while (at_ < total_ && number<uint16_t>(at_, total_, false) == 2) {
      const Element element = read_element({}, total_);
      visit(element, {}, total_);
    }
    return at_;
  }

  /// Items of encapsulated pixels.
  std::vector<std::span<const std::byte>> fragments() {
    std::vector<std::span<const std::byte>> pieces;
    while (true) {
      const Element element = read_element({}, total_);
      if (element.tag == sequence_end) return pieces;
      if (element.tag != item_tag || element.length == undefined) fail_at(element, "stands between pixels");
      skip(element, total_);
      pieces.push_back(bytes_.subspan(element.value, element.length));
    }
  }

 private:
  /// Requires of the bytes from `at` on: that they lie before `end`. Whether we hold them is another matter.
  void need(uint64_t at, uint64_t count, uint64_t end) const {
    if (at > end || count > end - at)
      fail(Exit::data, text("the DICOM data is cut short at byte ", at), "fetch the file again");
    if (at + count > bytes_.size()) throw OutOfBytes{};
  }

  template <class Number>
  Number number(std::size_t at, uint64_t end, bool big_endian) const {
    need(at, sizeof(Number), end);
    std::array<std::byte, sizeof(Number)> part;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const bool swapped = big_endian == (std::endian::native == std::endian::little);
      part[i] = bytes_[at + (swapped ? part.size() - 1 - i : i)];
    }
    return std::bit_cast<Number>(part);
  }

  Element read_element(const DicomEncoding& encoding, uint64_t end) {
    const bool big = encoding.big_endian;
    Element element;
    const auto group = number<uint16_t>(at_, end, big);
    element.tag = static_cast<DicomTag>(group) << 16 | number<uint16_t>(at_ + 2, end, big);
    if (!encoding.explicit_types || group == 0xfffe) {
      element.length = number<uint32_t>(at_ + 4, end, big);
      element.value = at_ + 8;
    } else {
      read_type_and_length(element, encoding, end);
    }
    at_ = element.value;
    return element;
  }

  void read_type_and_length(Element& element, const DicomEncoding& encoding, uint64_t end) {
    need(at_, 8, end);
    std::memcpy(element.type.data(), bytes_.data() + at_ + 4, 2);
    if (!is_type({element.type.data(), 2})) fail_at(element, "has no valid type");
    constexpr std::array<std::string_view, 13> wide = {"OB", "OD", "OF", "OL", "OV", "OW", "SQ",
                                                       "SV", "UC", "UN", "UR", "UT", "UV"};
    bool is_wide = false;
    for (const auto name : wide) is_wide = is_wide || element.is(name);
    element.length = is_wide ? number<uint32_t>(at_ + 8, end, encoding.big_endian)
                             : number<uint16_t>(at_ + 6, end, encoding.big_endian);
    element.value = at_ + (is_wide ? 12 : 8);
  }

  [[noreturn]] void fail_at(const Element& element, const char* what) const {
    fail(Exit::data, text("the DICOM data is damaged: the element ", to_text_of_tag(element.tag), " at byte ",
                          at_, ' ', what));
  }

  void skip(const Element& element, uint64_t end) {
    if (element.length > end || element.value > end - element.length)
      fail(Exit::data, text("the DICOM data is cut short: ", to_text_of_tag(element.tag), " claims ",
                            element.length, " bytes from byte ", element.value, " on"));
    at_ = element.value + element.length;
  }

  void visit(const Element& element, const DicomEncoding& encoding, uint64_t end) {
    const bool is_open = element.length == undefined;
    if (is_open && is_pixels(element.tag)) return skip_fragments();  // of an icon
    const bool may_hold_items = !encoding.explicit_types || element.is("SQ") || element.is("UN");
    if (is_open && !may_hold_items) fail_at(element, "does not say how long it is");
    // What another program did not know it passed on as UN, and that is written without types.
    const bool plain = element.is("UN");
    const DicomEncoding inner{encoding.explicit_types && !plain, encoding.big_endian && !plain};
    if (is_open) return walk_sequence(element, inner, end);
    const std::size_t value = at_;
    skip(element, end);
    const std::size_t behind = at_;
    if (visitor_.wants_sequence(element.tag) && may_hold_items) {
      at_ = value;
      walk_sequence(element, inner, behind);
    } else if (visitor_.wants_value(element.tag)) {
      need(value, element.length, end);
      visitor_.take(path_, element.tag, bytes_.subspan(value, element.length));
    }
  }

  void skip_fragments() {
    Element element = read_element({}, total_);
    while (element.tag != sequence_end) {
      if (element.tag != item_tag || element.length == undefined) fail_at(element, "stands between pixels");
      skip(element, total_);
      element = read_element({}, total_);
    }
  }

  void walk_sequence(const Element& sequence, const DicomEncoding& encoding, uint64_t end) {
    if (path_.size() >= deepest) fail_at(sequence, "nests too deep");
    path_.push_back({sequence.tag, 0});
    while (sequence.length == undefined || at_ < end) {
      const Element item = read_element(encoding, end);
      if (item.tag == sequence_end && sequence.length == undefined) break;
      if (item.tag != item_tag) fail_at(item, "stands where an item should");
      if (item.length == undefined) {
        walk_item(encoding, end, true);
      } else {
        const std::size_t value = at_;
        skip(item, end);
        const std::size_t behind = at_;
        at_ = value;
        walk_item(encoding, behind, false);
      }
      ++path_.back().item;
    }
    path_.pop_back();
  }

  void walk_item(const DicomEncoding& encoding, uint64_t end, bool is_open) {
    while (is_open || at_ < end) {
      const Element element = read_element(encoding, end);
      if (is_open && element.tag == item_end) return;
      if (element.tag >> 16 == 0xfffe) fail_at(element, "stands where none should");
      visit(element, encoding, end);
    }
  }

  std::span<const std::byte> bytes_;
  uint64_t total_;
  std::size_t at_;
  const DicomVisitor& visitor_;
  DicomPath path_;
};

bool has_preamble(std::span<const std::byte> bytes) {
  return bytes.size() >= meta_begin && std::memcmp(bytes.data() + preamble, "DICM", 4) == 0;
}

/// The meta group without the preamble before it.
bool begins_with_meta(std::span<const std::byte> bytes) {
  constexpr std::array<char, 8> length_of_group = {2, 0, 0, 0, 'U', 'L', 4, 0};
  return bytes.size() >= meta_begin &&
         std::memcmp(bytes.data(), length_of_group.data(), length_of_group.size()) == 0;
}

/// The first elements, so many that no other kind of file has them by chance.
class Beginning {
 public:
  Beginning(std::span<const std::byte> bytes, const DicomEncoding& encoding)
      : bytes_(bytes), encoding_(encoding) {}

  bool holds_elements() {
    constexpr int enough = 4;
    for (int count = 0; count < enough; ++count) {
      if (!take_element()) return false;
    }
    return true;
  }

 private:
  uint32_t number(std::size_t at, std::size_t size) const {
    uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t place = encoding_.big_endian ? i : size - 1 - i;
      value = value << 8 | std::to_integer<uint32_t>(bytes_[at + place]);
    }
    return value;
  }

  /// Short texts of group 8, in rising order.
  bool take_element() {
    constexpr uint32_t longest = 1024;
    if (bytes_.size() < 8 || at_ > bytes_.size() - 8) return false;
    const DicomTag tag = number(at_, 2) << 16 | number(at_ + 2, 2);
    if (tag >> 16 != 8 || tag <= last_) return false;
    last_ = tag;
    uint32_t length = number(at_ + 4, 4);
    if (encoding_.explicit_types) {
      if (!is_type({reinterpret_cast<const char*>(bytes_.data()) + at_ + 4, 2})) return false;
      length = number(at_ + 6, 2);
    }
    at_ += 8 + length;
    return length <= longest && length % 2 == 0;
  }

  std::span<const std::byte> bytes_;
  DicomEncoding encoding_;
  std::size_t at_ = 0;
  DicomTag last_ = 0x0007ffff;
};

/// The transfer syntax of a data set that begins so; empty when it does not begin like one.
std::string syntax_of_beginning(std::span<const std::byte> bytes) {
  if (Beginning(bytes, {true, false}).holds_elements()) return "1.2.840.10008.1.2.1";
  if (Beginning(bytes, {false, false}).holds_elements()) return "1.2.840.10008.1.2";
  if (Beginning(bytes, {true, true}).holds_elements()) return "1.2.840.10008.1.2.2";
  return "";
}

const DicomVisitor& nothing_wanted() {
  static const DicomVisitor visitor{[](DicomTag) { return false; }, [](DicomTag) { return false; },
                                    [](const auto&, auto, auto) {}};
  return visitor;
}

}  // namespace

std::string to_text_of_tag(DicomTag tag) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string name = "(";
  for (int i = 7; i >= 0; --i) {
    name += digits[tag >> (4 * i) & 15];
    if (i == 4) name += ',';
  }
  return name + ')';
}

bool looks_like_dicom(std::span<const std::byte> bytes) {
  return has_preamble(bytes) || begins_with_meta(bytes) || !syntax_of_beginning(bytes).empty();
}

DicomScan scan_dicom(std::span<const std::byte> bytes, uint64_t total, std::size_t begin,
                     const DicomEncoding& encoding, const DicomVisitor& visitor) {
  try {
    return {true, Walker(bytes, total, begin, visitor).walk(encoding)};
  } catch (const OutOfBytes&) {
    return {};
  }
}

DicomMeta scan_dicom_meta(std::span<const std::byte> bytes, uint64_t total) {
  DicomMeta meta;
  const DicomVisitor visitor{
      [](DicomTag tag) { return tag == transfer_syntax_tag; }, [](DicomTag) { return false; },
      [&](const DicomPath& path, DicomTag, std::span<const std::byte> value) {
        constexpr std::size_t longest = 64;  // of a UID; with what pads it
        if (!path.empty()) return;
        if (value.size() > longest + 2)
          fail(Exit::data,
               text("the DICOM data is damaged: its transfer syntax (0002,0010) is ", value.size(),
                    " bytes long"),
               "fetch the file again");
        if (!meta.transfer_syntax.empty())
          fail(Exit::data, "the DICOM data is damaged: its transfer syntax (0002,0010) stands there twice",
               "fetch the file again");
        const auto* letters = reinterpret_cast<const char*>(value.data());
        const std::string_view uid(letters, value.size());
        meta.transfer_syntax = uid.substr(0, uid.find_last_not_of(std::string_view("\0 ", 2)) + 1);
      }};
  try {
    meta.end = Walker(bytes, total, has_preamble(bytes) ? meta_begin : 0, visitor).walk_meta();
    meta.complete = true;
    if (meta.transfer_syntax.empty()) meta.transfer_syntax = syntax_of_beginning(bytes.subspan(meta.end));
  } catch (const OutOfBytes&) {
    meta.complete = false;
  }
  return meta;
}

std::vector<std::span<const std::byte>> find_fragments(std::span<const std::byte> bytes, std::size_t begin) {
  return Walker(bytes, bytes.size(), begin, nothing_wanted()).fragments();
}

}  // namespace larmor
