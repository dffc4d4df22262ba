#include "larmor/formats/dicom/dicom_pixels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/load_clock.h"
#include "larmor/base/text.h"
#include "larmor/formats/dicom/dicom_codec.h"
#include "larmor/formats/gzip.h"
#include "larmor/formats/stored_array.h"

namespace larmor {

namespace {

constexpr const char* deflated_frames = "1.2.840.10008.1.2.8.1";

struct RawPixels {
  Bytes owned;                      // empty when they lie in the file
  std::span<const std::byte> view;  // as stored, `bits_allocated` a sample
  bool big_endian = false, by_plane = false;
  std::string photometric;
};

std::size_t raw_bytes(const DicomHeader& header, int64_t frames) {
  const auto samples = static_cast<uint64_t>(header.rows * header.columns * frames * header.samples);
  return (samples * static_cast<uint64_t>(header.bits_allocated) + 7) / 8;
}

[[noreturn]] void fail_short(std::size_t needed, uint64_t found) {
  fail(Exit::data,
       text("is cut short: its header claims ", needed, " bytes of pixels, but there are ", found),
       "fetch the file again");
}

/// JPEG-LS and RLE shrink empty pictures a thousandfold, but no more than that is believed beyond 64 MiB.
void refuse_bomb(std::size_t needed, uint64_t packed) {
  const InflateLimits limits{.ratio = 1000, .ratio_free = uint64_t{64} << 20};
  if (needed > limits.largest(packed)) fail_short(needed, packed);
}

Bytes inflate_frames(const DicomHeader& header, const std::vector<std::span<const std::byte>>& fragments) {
  const std::size_t frame = raw_bytes(header, 1);
  Bytes all(raw_bytes(header, header.frames));
  if (fragments.size() != static_cast<std::size_t>(header.frames) + 1 ||
      frame * static_cast<std::size_t>(header.frames) != all.size()) {
    fail(Exit::data, text("has ", header.frames, " deflated frames in ", fragments.size(), " pieces"));
  }
  for (std::size_t i = 1; i < fragments.size(); ++i) {
    const Bytes plain = inflate(fragments[i], frame);
    std::memcpy(all.data() + (i - 1) * frame, plain.data(), frame);
  }
  return all;
}

RawPixels decode(const DicomFile& file, std::size_t needed) {
  const DicomHeader& header = file.header;
  const auto fragments = find_fragments(file.bytes.view(), header.pixels.begin);
  uint64_t packed = 0;
  for (const auto fragment : fragments) packed += fragment.size();
  refuse_bomb(needed, packed);
  RawPixels raw;
  raw.photometric = header.photometric;
  raw.by_plane = header.by_plane;
  if (header.transfer_syntax == deflated_frames) {
    raw.owned = inflate_frames(header, fragments);
  } else {
    const LoadScope stage(LoadStage::decompress);
    DecodedPixels decoded = decode_pixels(encoded_pixels(header, fragments));
    raw.owned = std::move(decoded.bytes);
    raw.photometric = std::move(decoded.form.photometric);
    raw.by_plane = decoded.form.by_plane;
  }
  if (raw.owned.size() < needed) fail_short(needed, raw.owned.size());
  raw.view = std::as_const(raw.owned).view().first(needed);
  return raw;
}

/// A few zeros may fill the element up. More than a row or a column of them were pixels, so the header's
/// sizes are not theirs.
void refuse_pixels_left_over(const DicomHeader& header, std::span<const std::byte> left_over) {
  if (left_over.size() <= 1) return;
  const auto side = static_cast<uint64_t>(std::min(header.rows, header.columns));
  const bool is_padding =
      left_over.size() * 8 < side * static_cast<uint64_t>(header.bits_allocated) &&
      std::ranges::all_of(left_over, [](std::byte value) { return value == std::byte{0}; });
  if (is_padding) return;
  fail(
      Exit::data,
      text("contradicts itself: ", left_over.size(), " bytes of its pixels are left over by ", header.columns,
           " x ", header.rows, " pixels (0028,0010 and 0028,0011) in ", header.frames, " frames (0028,0008)"),
      "fetch the file again, or correct its sizes");
}

RawPixels raw_pixels(const DicomFile& file) {
  const DicomHeader& header = file.header;
  const std::size_t needed = raw_bytes(header, header.frames);
  if (header.pixels.in_fragments) return decode(file, needed);
  if (!is_plain_syntax(header.transfer_syntax))
    fail(Exit::data,
         "contradicts itself: its pixels are not compressed as its transfer syntax (0002,0010) says");
  const std::size_t there = file.bytes.size() - std::min(file.bytes.size(), header.pixels.begin);
  const uint64_t found = std::min<uint64_t>(there, header.pixels.length);
  if (found < needed) fail_short(needed, found);
  refuse_pixels_left_over(header, file.bytes.view().subspan(header.pixels.begin, found).subspan(needed));
  RawPixels raw;
  raw.view = file.bytes.view().subspan(header.pixels.begin, needed);
  raw.big_endian = header.transfer_syntax == "1.2.840.10008.1.2.2";
  raw.by_plane = header.by_plane;
  raw.photometric = header.photometric;
  return raw;
}

/// Words of `Word` in the file's order; only the stored bits count, the highest of them is the sign.
template <class Word>
void unpack_words(const RawPixels& raw, const DicomHeader& header, Bytes& out) {
  const bool swap = raw.big_endian != (std::endian::native == std::endian::big);
  if (!swap && header.bits_stored == header.bits_allocated) {
    std::memcpy(out.data(), raw.view.data(), raw.view.size());
    return;
  }
  const int shift = header.high_bit + 1 - header.bits_stored;
  const auto mask = static_cast<Word>(~uint64_t{0} >> (64 - header.bits_stored));
  const auto sign = static_cast<Word>(header.is_signed ? uint64_t{1} << (header.bits_stored - 1) : 0);
  const auto below = static_cast<Word>((uint64_t{1} << shift) - 1);
  Word lost = 0;
  for (std::size_t at = 0; at < raw.view.size(); at += sizeof(Word)) {
    std::array<std::byte, sizeof(Word)> part;
    std::memcpy(part.data(), raw.view.data() + at, sizeof(Word));
    if (swap) std::reverse(part.begin(), part.end());
    const auto stored = std::bit_cast<Word>(part);
    lost = static_cast<Word>(lost | (stored & below));
    auto word = static_cast<Word>(stored >> shift & mask);
    word = static_cast<Word>((word ^ sign) - sign);
    std::memcpy(out.data() + at, &word, sizeof(Word));
  }
  if (lost != 0) {
    fail(Exit::data,
         text("contradicts itself: there are values below the lowest bit that is stored, as it has ",
              header.bits_stored, " bits (0028,0101) up to bit ", header.high_bit, " (0028,0102)"),
         "fetch the file again, or write it anew with the program that made it");
  }
}

void unpack_bits(const RawPixels& raw, Bytes& out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out.data()[i] = raw.view[i / 8] >> (i % 8) & std::byte{1};
  }
}

std::byte limited(double value) {
  return static_cast<std::byte>(std::clamp<long>(std::lround(value), 0, 255));
}

/// Source: PS3.3 C.7.6.3.1.2, YBR_FULL.
void to_rgb(std::byte& red, std::byte& green, std::byte& blue) {
  const auto light = std::to_integer<int>(red);
  const int cb = std::to_integer<int>(green) - 128, cr = std::to_integer<int>(blue) - 128;
  red = limited(light + 1.402 * cr);
  green = limited(light - 0.344136 * cb - 0.714136 * cr);
  blue = limited(light + 1.772 * cb);
}

void unpack_colours(const RawPixels& raw, const DicomHeader& header, Bytes& out) {
  if (raw.photometric != "RGB" && raw.photometric != "YBR_FULL")
    fail(Exit::data, "has colours (0028,0004) that are not read", "convert it to RGB first");
  const auto frame = static_cast<std::size_t>(header.rows * header.columns);
  const std::size_t all = frame * static_cast<std::size_t>(header.frames);
  for (std::size_t pixel = 0; pixel < all; ++pixel) {
    const std::size_t begin = pixel / frame * frame * 3;
    for (std::size_t sample = 0; sample < 3; ++sample) {
      const std::size_t inside = raw.by_plane ? sample * frame + pixel % frame : pixel % frame * 3 + sample;
      out.data()[sample * all + pixel] = raw.view[begin + inside];
    }
  }
  if (raw.photometric == "RGB") return;
  for (std::size_t pixel = 0; pixel < all; ++pixel)
    to_rgb(out.data()[pixel], out.data()[all + pixel], out.data()[2 * all + pixel]);
}

/// The range of the stored bits, in the units of the rescaled values.
std::array<double, 2> range_of(const DicomHeader& header, const DicomPlane& plane) {
  if (header.value_table) return {0, std::ldexp(1.0, header.value_table->bits) - 1};
  const double span = std::ldexp(1.0, header.bits_stored);
  const double low = header.is_signed ? -span / 2 : 0;
  return {low * plane.slope + plane.intercept, (low + span - 1) * plane.slope + plane.intercept};
}

double windowed(double value, const DicomWindow& window, const std::array<double, 2>& range) {
  const double width = range[1] - range[0];
  if (window.function == "SIGMOID")
    return width / (1 + std::exp(-4 * (value - window.centre) / window.width)) + range[0];
  const bool exact = window.function == "LINEAR_EXACT";
  const double centre = exact ? window.centre : window.centre - 0.5;
  const double length = exact ? window.width : window.width - 1;
  if (value <= centre - length / 2) return range[0];
  if (value > centre + length / 2) return range[1];
  return ((value - centre) / length + 0.5) * width + range[0];
}

double looked_up(double value, const DicomTable& table) {
  const double last = static_cast<double>(table.entries.size() - 1);
  return table.entries[static_cast<std::size_t>(std::clamp(std::round(value) - table.first, 0.0, last))];
}

double shown(double value, const DicomTable& table, const std::array<double, 2>& range) {
  const double most = std::ldexp(1.0, table.bits) - 1;
  return looked_up(value, table) / most * (range[1] - range[0]) + range[0];
}

std::vector<double> rescaled(std::span<const std::byte> voxels, const DicomHeader& header,
                             const DicomPlane& plane, std::size_t count) {
  std::vector<double> values(count);
  VoxelFormat format{voxel_type_of(header), std::endian::native == std::endian::big};
  if (!header.value_table) {
    format.slope = plane.slope;
    format.intercept = plane.intercept;
  }
  decode_voxels(voxels, format, values);
  if (header.value_table) {
    for (double& value : values) value = looked_up(value, *header.value_table);
  }
  return values;
}

}  // namespace

Bytes plain_pixels(const DicomFile& file) {
  const LoadScope stage(LoadStage::decode);
  const DicomHeader& header = file.header;
  const std::array<int64_t, 4> shape = {header.columns, header.rows, header.frames, header.samples};
  const std::size_t bytes = checked_bytes(shape, bytes_of(voxel_type_of(header)));
  const RawPixels raw = raw_pixels(file);  // which are there, so there may be as many plain ones
  Bytes plain(bytes);
  if (header.samples == 3) {
    unpack_colours(raw, header, plain);
  } else if (header.bits_allocated == 1) {
    unpack_bits(raw, plain);
  } else if (header.bits_allocated == 8) {
    unpack_words<uint8_t>(raw, header, plain);
  } else if (header.bits_allocated == 16) {
    unpack_words<uint16_t>(raw, header, plain);
  } else {
    DicomHeader whole = header;  // numbers with a point have no bits to spare
    whole.bits_stored = header.pixels.tag == 0x7fe00010 ? header.bits_stored : header.bits_allocated;
    whole.high_bit = header.pixels.tag == 0x7fe00010 ? header.high_bit : header.bits_allocated - 1;
    if (header.bits_allocated == 32) {
      unpack_words<uint32_t>(raw, whole, plain);
    } else {
      unpack_words<uint64_t>(raw, whole, plain);
    }
  }
  return plain;
}

void rescale(std::span<const std::byte> voxels, const DicomHeader& header, const DicomPlane& plane,
             std::span<float> out) {
  const std::vector<double> values = rescaled(voxels, header, plane, out.size());
  std::ranges::transform(values, out.begin(), [](double value) { return static_cast<float>(value); });
}

void turn_round(std::span<const std::byte> voxels, const DicomHeader& header, const DicomPlane& plane,
                std::span<float> out) {
  const std::vector<double> values = rescaled(voxels, header, plane, out.size());
  const auto range = range_of(header, plane);
  std::ranges::transform(values, out.begin(),
                         [&](double value) { return static_cast<float>(range[0] + range[1] - value); });
}

void develop(std::span<const std::byte> voxels, const DicomHeader& header, const DicomPlane& plane,
             std::span<float> out) {
  std::vector<double> values = rescaled(voxels, header, plane, out.size());
  const auto range = range_of(header, plane);
  for (std::size_t i = 0; i < values.size(); ++i) {
    double value = values[i];
    if (header.window) {
      value = windowed(value, *header.window, range);
    } else if (header.table) {
      value = shown(value, *header.table, range);
    }
    if (header.photometric == "MONOCHROME1") value = range[0] + range[1] - value;
    out[i] = static_cast<float>(value);
  }
}

}  // namespace larmor
