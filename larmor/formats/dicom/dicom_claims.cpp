#include <algorithm>
#include <string>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/dicom/dicom_codec.h"
#include "larmor/formats/dicom/dicom_header.h"

namespace larmor {

VoxelType voxel_type_of(const DicomHeader& header) {
  if (header.pixels.tag == 0x7fe00008) return VoxelType::float32;
  if (header.pixels.tag == 0x7fe00009) return VoxelType::float64;
  if (header.bits_allocated <= 8) return header.is_signed ? VoxelType::int8 : VoxelType::uint8;
  if (header.bits_allocated <= 16) return header.is_signed ? VoxelType::int16 : VoxelType::uint16;
  return header.is_signed ? VoxelType::int32 : VoxelType::uint32;
}

std::size_t frame_bytes(const DicomHeader& header) {
  return static_cast<std::size_t>(header.rows * header.columns * header.samples) *
         bytes_of(voxel_type_of(header));
}

void check_pixels_are_there(const DicomHeader& header) {
  const uint64_t there = header.bytes - std::min<uint64_t>(header.bytes, header.pixels.begin);
  // Sizes of 16 bits and not too many frames, so 64 bits hold the product.
  const auto frames = static_cast<uint64_t>(header.frames);
  const uint64_t samples = static_cast<uint64_t>(header.rows * header.columns * header.samples) * frames;
  const uint64_t needed = (samples * static_cast<uint64_t>(header.bits_allocated) + 7) / 8;
  if (!header.pixels.in_fragments && header.pixels.length > there)
    fail(Exit::data,
         text("is cut short: its pixels (7fe0,0010) claim ", header.pixels.length, " bytes, but there are ",
              there),
         "fetch the file again");
  uint64_t possible = std::min(there, header.pixels.length);
  if (header.pixels.in_fragments) {
    // Some codecs shrink empty pictures a thousandfold, and a piece of pixels starts with 8 bytes.
    constexpr uint64_t ratio = 1000, ratio_free = uint64_t{64} << 20, piece = 8;
    possible = frames > there / piece ? 0 : std::max(ratio_free, there * ratio);
  }
  if (needed > possible)
    fail(Exit::data,
         text("is cut short: its header claims ", needed, " bytes of pixels, but there are ",
              header.pixels.in_fragments ? there : possible),
         "fetch the file again");
}

std::string fault_of(const DicomHeader& header) {
  if (header.pixels.tag == 0) return "holds no image: it has no pixels (7fe0,0010)";
  if (!header.misread.empty()) return header.misread;
  if (header.rows <= 0 || header.columns <= 0 || header.frames <= 0) {
    return text("claims ", header.rows, " rows (0028,0010), ", header.columns, " columns (0028,0011) and ",
                header.frames, " frames (0028,0008)");
  }
  if (header.frames > most_frames)
    return text("claims ", header.frames, " frames (0028,0008), more than the ", most_frames,
                " that are read");
  if (const std::string reason = refusal_of(header.transfer_syntax); !reason.empty()) return reason;
  if (header.samples != 1 && header.samples != 3)
    return text("has ", header.samples, " samples a pixel (0028,0002); 1 and 3 are read");
  if (header.pixels.tag != 0x7fe00010) {
    const int bits = header.pixels.tag == 0x7fe00008 ? 32 : 64;
    return header.bits_allocated == bits
               ? ""
               : text("has floating-point pixels of ", header.bits_allocated, " bits");
  }
  const int allocated = header.bits_allocated, stored = header.bits_stored, high = header.high_bit;
  const bool sound = (allocated == 1 || allocated == 8 || allocated == 16 || allocated == 32) &&
                     stored >= 1 && stored <= allocated && high >= stored - 1 && high < allocated;
  if (!sound) {
    return text("contradicts itself: ", allocated, " bits allocated (0028,0100), ", stored,
                " stored (0028,0101), the highest is ", high, " (0028,0102)");
  }
  if (header.samples == 3 && allocated != 8)
    return text("is a colour image of ", allocated, " bits; 8 are read");
  if (header.photometric == "PALETTE COLOR")
    return "has the colours of a palette (0028,0004), which are not read: convert it to RGB first";
  const bool is_grey = header.photometric.starts_with("MONOCHROME");
  if ((header.samples == 1) != is_grey)
    return text("contradicts itself: ", header.samples, " samples a pixel (0028,0002), but ",
                is_grey ? "grey" : "coloured", " (0028,0004)");
  return "";
}

}  // namespace larmor
