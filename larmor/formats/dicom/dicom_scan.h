// The structure of a DICOM file, walked without believing it: each length is held against the bytes that
// are there, nothing is allocated, sequences nest sixteen deep at most.
// Source: DICOM PS3.5 chapter 7 and annex A, PS3.10 chapter 7.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace larmor {

/// Group and element as one number: 0x00280010 for (0028,0010).
using DicomTag = uint32_t;

std::string to_text_of_tag(DicomTag tag);  // "(0028,0010)"

/// How a data set is written, as its transfer syntax says.
struct DicomEncoding {
  bool explicit_types = true;
  bool big_endian = false;
};

struct DicomStep {
  DicomTag sequence = 0;
  std::size_t item = 0;
};
/// The sequences that an element stands in, outermost first; empty for the data set itself.
using DicomPath = std::vector<DicomStep>;

/// Where the pixels are: their element is the last one that is looked at.
struct DicomPixels {
  DicomTag tag = 0;       // 0: there are none
  std::size_t begin = 0;  // offset into the bytes given
  uint64_t length = 0;    // of a plain value
  bool in_fragments = false;
};

/// What is wanted of a data set.
struct DicomVisitor {
  std::function<bool(DicomTag)> wants_value;     // of elements; only these reach `take`
  std::function<bool(DicomTag)> wants_sequence;  // others are passed over where their length allows it
  std::function<void(const DicomPath&, DicomTag, std::span<const std::byte>)> take;
};

struct DicomScan {
  bool complete = false;  // false: `bytes` end before the pixels do begin, though the file goes on
  DicomPixels pixels;
};

/// Whether the preamble's end says DICM, or the bytes begin like a meta group or a data set without it.
bool looks_like_dicom(std::span<const std::byte> bytes);

/// Walks elements from `begin` on. `bytes` are the beginning of `total` ones. Throws Error (data), with a
/// byte offset: a length behind the end, no valid element, too deep.
DicomScan scan_dicom(std::span<const std::byte> bytes, uint64_t total, std::size_t begin,
                     const DicomEncoding& encoding, const DicomVisitor& visitor);

/// The transfer syntax of the file's meta group, and where the data set begins. `complete` false as above.
/// Old archives and treatment planning write data sets without the group, plain ones by the standard: of
/// those the syntax is how their first elements are written; empty where those are no elements.
struct DicomMeta {
  bool complete = false;
  std::string transfer_syntax;
  std::size_t end = 0;
};
DicomMeta scan_dicom_meta(std::span<const std::byte> bytes, uint64_t total);

/// The pieces of encapsulated pixels, the table of offsets first. Throws Error (data).
std::vector<std::span<const std::byte>> find_fragments(std::span<const std::byte> bytes, std::size_t begin);

}  // namespace larmor
