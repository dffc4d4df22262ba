// From the pixels of a DICOM file to plain voxels, and from those to what a radiograph shows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "larmor/formats/bytes.h"
#include "larmor/formats/dicom/dicom_header.h"

namespace larmor {

/// [channels][frames][rows][columns] of voxel_type_of(header), in the machine's byte order: decompressed,
/// masked to the bits that are stored, sign extended, colours as RGB. Requires: fault_of(header) is empty.
/// Throws Error (data): cut short, damaged, more than its bytes can hold.
Bytes plain_pixels(const DicomFile& file);

/// value * slope + intercept in float64, rounded once. `voxels` is one plane of the header's voxel type.
void rescale(std::span<const std::byte> voxels, const DicomHeader& header, const DicomPlane& plane,
             std::span<float> out);
/// The same where low values mean white (MONOCHROME1): turned round within the range of the stored bits.
void turn_round(std::span<const std::byte> voxels, const DicomHeader& header, const DicomPlane& plane,
                std::span<float> out);
/// The same for a radiograph: rescaled, through its window, or
/// its VOI lookup table where it has no window, to the range of its stored bits, and where low values mean
/// white (MONOCHROME1) turned round within that range. Source: PS3.3 C.11.2.1.2, C.11.2.1.3 and C.7.6.3.1.2;
/// the range as in pydicom's apply_windowing.
void develop(std::span<const std::byte> voxels, const DicomHeader& header, const DicomPlane& plane,
             std::span<float> out);

}  // namespace larmor
