// What is read of a DICOM header: shape, encoding, geometry and intensity. Names and dates are never taken
// out of the file, so they cannot turn up in a message; of free text the description of a series alone is,
// where a person chooses by it. Source: DICOM PS3.3 C.7.6 (image modules), C.11.1 and C.11.2 (modality and
// VOI), C.7.6.16 (functional groups).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "larmor/formats/bytes.h"
#include "larmor/formats/dicom/dicom_class.h"
#include "larmor/formats/dicom/dicom_scan.h"
#include "larmor/formats/voxel_format.h"

namespace larmor {

/// Where a slice is and what its numbers mean. Millimetres, in DICOM's own axes (x to the Left, y Posterior).
struct DicomPlane {
  std::optional<std::array<double, 3>> position;     // of the centre of the first pixel
  std::optional<std::array<double, 6>> orientation;  // directions along a row and along a column
  std::optional<std::array<double, 2>> spacing;      // between rows, between columns
  std::optional<double> thickness;
  double slope = 1, intercept = 0;
  bool is_rescaled = false;
};

/// How a radiograph is to be shown.
struct DicomWindow {
  double centre = 0, width = 0;
  std::string function = "LINEAR";
};

/// A table of values from `first` on, those before and behind it like its ends.
struct DicomTable {
  int first = 0, bits = 0;             // bits: of an entry
  std::vector<uint16_t> entries = {};  // not empty
};

struct DicomHeader {
  std::string transfer_syntax, series, sop_class, modality, photometric;
  std::string instance, series_number, echo;  // what tells objects of one kind apart; empty where not said
  std::string description;                    // of the series, where it is wanted
  std::string misread;  // which element that decides something cannot be understood, and why; empty: none
  int64_t rows = 0, columns = 0, frames = 1, samples = 1;
  int bits_allocated = 0, bits_stored = 0, high_bit = 0;
  bool is_signed = false, by_plane = false;  // by_plane: all red, then all green
  DicomPlane plane;                          // of all frames
  std::vector<DicomPlane> frame_planes;      // one a frame, or none
  std::optional<double> step;                // (0018,0088), mm between slices
  std::optional<DicomWindow> window;
  std::optional<DicomTable> table;        // the first of the VOI lookup tables
  std::optional<DicomTable> value_table;  // of the modality, in place of slope and intercept
  bool is_mosaic = false;                 // many slices as tiles of one picture
  bool is_localizer = false;              // a scout on which slices are planned
  DicomPixels pixels;
  uint64_t bytes = 0;  // of the whole file

  /// Taken through the body, not a slice of it: its values are meant to be windowed.
  bool is_radiograph() const;
  const DicomPlane& plane_of(int64_t frame) const;
};

/// A file's bytes with its header. Deflated data sets are unpacked, so that offsets fit.
struct DicomFile {
  DicomHeader header;
  Bytes bytes;
};

/// Throws Error (data): no DICOM file, damaged. That there are no pixels, or that they cannot be, is not said
/// here.
DicomFile parse_dicom(Bytes bytes);
/// The same of a file, packed with gzip or not. The path is the caller's to add.
DicomFile open_dicom_file(const std::filesystem::path& path);
/// Whether the file is packed with gzip and begins like a DICOM file when it is unpacked.
bool holds_packed_dicom(const RegularFile& file);
/// Reads as little of a file as it can. Nothing when it is no DICOM file, or no file at all. Throws Error
/// (data) when it cannot be read.
std::optional<DicomHeader> read_dicom_header(const std::filesystem::path& path,
                                             DicomText texts = DicomText::none);

/// Frames of one file; each takes a few hundred bytes of its own.
constexpr int64_t most_frames = int64_t{1} << 18;

/// By its SOP class, its image type and, where it does not say a class, its modality.
DicomClass class_of(const DicomHeader& header);

/// Why there cannot be an image: no pixels, impossible sizes, a kind that is not read. Empty when there can.
std::string fault_of(const DicomHeader& header);
/// Holds what the header claims against the bytes that are there, before anything is sized by it: of
/// compressed pixels that there is a piece for each frame, and that they could become so many. Throws Error
/// (data). Requires: no fault.
void check_pixels_are_there(const DicomHeader& header);
/// As stored. Requires: no fault.
VoxelType voxel_type_of(const DicomHeader& header);
/// Of one frame and all its samples, unpacked. Requires: no fault.
std::size_t frame_bytes(const DicomHeader& header);

}  // namespace larmor
