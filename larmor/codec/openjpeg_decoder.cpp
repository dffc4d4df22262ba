#include "larmor/codec/openjpeg_decoder.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include <openjpeg.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/codec/frame_pieces.h"

namespace larmor {

namespace {

constexpr std::string_view lossless_2000 = "1.2.840.10008.1.2.4.90", any_2000 = "1.2.840.10008.1.2.4.91";

struct CodecEnd {
  void operator()(opj_codec_t* codec) const { opj_destroy_codec(codec); }
};
struct StreamEnd {
  void operator()(opj_stream_t* stream) const { opj_stream_destroy(stream); }
};
struct ImageEnd {
  void operator()(opj_image_t* image) const { opj_image_destroy(image); }
};

/// The bytes of one codestream, as OpenJPEG reads them.
struct Reading {
  std::span<const std::byte> bytes;
  std::size_t at = 0;
};

OPJ_SIZE_T read_some(void* buffer, OPJ_SIZE_T wanted, void* data) {
  auto& reading = *static_cast<Reading*>(data);
  const std::size_t there = std::min<std::size_t>(wanted, reading.bytes.size() - reading.at);
  if (there == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(buffer, reading.bytes.data() + reading.at, there);
  reading.at += there;
  return there;
}

OPJ_OFF_T skip_some(OPJ_OFF_T count, void* data) {
  auto& reading = *static_cast<Reading*>(data);
  if (count < 0 || static_cast<std::size_t>(count) > reading.bytes.size() - reading.at) return -1;
  reading.at += static_cast<std::size_t>(count);
  return count;
}

OPJ_BOOL seek_to(OPJ_OFF_T place, void* data) {
  auto& reading = *static_cast<Reading*>(data);
  if (place < 0 || static_cast<std::size_t>(place) > reading.bytes.size()) return OPJ_FALSE;
  reading.at = static_cast<std::size_t>(place);
  return OPJ_TRUE;
}

/// What OpenJPEG says of a codestream: the first warning or error counts.
struct Complaint {
  std::string words;
};

void keep_first(const char* message, void* data) {
  auto& complaint = *static_cast<Complaint*>(data);
  std::string_view words = message;
  while (words.ends_with('\n')) words.remove_suffix(1);
  if (complaint.words.empty()) complaint.words = words;
}

[[noreturn]] void fail_undecoded(const Complaint& complaint) {
  fail(Exit::data,
       text("its compressed pixels are damaged or cut short: ",
            complaint.words.empty() ? "OpenJPEG gives no reason" : complaint.words),
       "fetch the file again");
}

uint32_t number_at(std::span<const std::byte> bytes, std::size_t at, std::size_t width) {
  uint32_t number = 0;
  for (std::size_t i = 0; i < width; ++i) number = number << 8 | std::to_integer<uint32_t>(bytes[at + i]);
  return number;
}

/// The markers of a codestream, walked before a decoder sees it: the size of the header, samples that fit,
/// few tiles; and that each tile has a part, and a marker of the end follows the last of them. (OpenJPEG
/// gives tiles that are not there as zeros.) Source: ITU-T T.800, annex A.
class CodestreamWalk {
 public:
  CodestreamWalk(std::span<const std::byte> stream, const EncodedPixels& encoded)
      : stream_(stream), encoded_(encoded) {}

  void walk() const {
    if (stream_.size() < fixed_size || word(0) != 0xff4fff51) {
      fail(Exit::data, "its compressed pixels are damaged: they are no JPEG 2000 codestream",
           "fetch the file again");
    }
    check_samples();
    const uint64_t tiles = count_tiles();
    check_parts(first_part(), tiles);
  }

 private:
  static constexpr std::size_t fixed_size = 42;  // of SOC and SIZ, up to the list of components
  static constexpr uint32_t start_of_part = 0xff90, end_of_stream = 0xffd9;

  uint32_t word(std::size_t at) const { return number_at(stream_, at, 4); }

  void check_samples() const {
    const uint32_t right = word(8), bottom = word(12), left = word(16), top = word(20);
    const std::size_t samples = number_at(stream_, 40, 2);
    bool fits = right > left && bottom > top && static_cast<int64_t>(right - left) == encoded_.columns &&
                static_cast<int64_t>(bottom - top) == encoded_.rows &&
                samples == static_cast<std::size_t>(encoded_.samples) &&
                stream_.size() >= fixed_size + 3 * samples;
    for (std::size_t i = 0; fits && i < samples; ++i) {
      const int bits = static_cast<int>(number_at(stream_, fixed_size + 3 * i, 1) & 127) + 1;
      fits = bits <= encoded_.bits_allocated && number_at(stream_, fixed_size + 3 * i + 1, 2) == 0x0101;
    }
    if (fits) return;
    fail(Exit::data, text("contradicts itself: its compressed pixels are not ", encoded_.columns, " x ",
                          encoded_.rows, " of ", encoded_.samples, " samples of at most ",
                          encoded_.bits_allocated, " bits, as its header says"));
  }

  uint64_t count_tiles() const {
    const uint64_t right = word(8), bottom = word(12), left = word(16), top = word(20);
    const uint64_t width = word(24), height = word(28), tile_left = word(32), tile_top = word(36);
    if (width == 0 || height == 0 || tile_left > left || tile_top > top) fail_damaged(24);
    constexpr uint64_t most = 4096;  // the decoder holds each; an honest one has thousands of pixels
    const uint64_t across = (right - tile_left + width - 1) / width,
                   down = (bottom - tile_top + height - 1) / height;
    if (across <= most && down <= most && across * down <= most) return across * down;
    fail(Exit::data, text("its compressed pixels are in more than ", most, " tiles"),
         "convert it first, for instance with gdcmconv --raw IN OUT");
  }

  /// Where the main header ends.
  std::size_t first_part() const {
    std::size_t at = 2;
    while (true) {
      if (at > stream_.size() || stream_.size() - at < 4) fail_short();
      const uint32_t marker = number_at(stream_, at, 2), length = number_at(stream_, at + 2, 2);
      if (marker == start_of_part) return at;
      if (marker < 0xff01 || length < 2) fail_damaged(at);
      if (stream_.size() - at - 2 < length) fail_short();
      at += 2 + length;
    }
  }

  /// To the marker of the end. What follows it is not looked at: pieces are made even.
  void check_parts(std::size_t at, uint64_t tiles) const {
    std::vector<bool> is_there(tiles);
    constexpr std::size_t header = 12;
    while (true) {
      if (stream_.size() - at < 2) fail_short();
      const uint32_t marker = number_at(stream_, at, 2);
      if (marker == end_of_stream) break;
      if (marker != start_of_part) fail_damaged(at);
      if (stream_.size() - at < header) fail_short();
      const uint32_t tile = number_at(stream_, at + 4, 2), length = word(at + 6);
      if (tile >= tiles || (length != 0 && length < header)) fail_damaged(at);
      if (length > stream_.size() - at) fail_short();
      is_there[tile] = true;
      at = length == 0 ? last_marker() : at + length;
    }
    const auto missing = std::count(is_there.begin(), is_there.end(), false);
    if (missing == 0) return;
    fail(Exit::data, text("is cut short: its compressed pixels lack ", missing, " of ", tiles, " tiles"),
         "fetch the file again");
  }

  /// Of a part that goes as far as the stream does.
  std::size_t last_marker() const {
    std::size_t size = stream_.size();
    while (size > fixed_size && stream_[size - 1] == std::byte{0}) --size;
    return size - 2;
  }

  [[noreturn]] static void fail_damaged(std::size_t at) {
    fail(Exit::data, text("its compressed pixels are damaged at byte ", at), "fetch the file again");
  }
  [[noreturn]] static void fail_short() {
    fail(Exit::data, "is cut short: its compressed pixels end within a picture", "fetch the file again");
  }

  std::span<const std::byte> stream_;
  const EncodedPixels& encoded_;
};

using Image = std::unique_ptr<opj_image_t, ImageEnd>;

Image decode_codestream(std::span<const std::byte> bytes) {
  Complaint complaint;
  const std::unique_ptr<opj_codec_t, CodecEnd> codec(opj_create_decompress(OPJ_CODEC_J2K));
  const std::unique_ptr<opj_stream_t, StreamEnd> stream(opj_stream_default_create(OPJ_TRUE));
  if (!codec || !stream) throw std::bad_alloc();
  opj_set_warning_handler(codec.get(), keep_first, &complaint);
  opj_set_error_handler(codec.get(), keep_first, &complaint);
  Reading reading{.bytes = bytes};
  opj_stream_set_user_data(stream.get(), &reading, nullptr);
  opj_stream_set_user_data_length(stream.get(), bytes.size());
  opj_stream_set_read_function(stream.get(), read_some);
  opj_stream_set_skip_function(stream.get(), skip_some);
  opj_stream_set_seek_function(stream.get(), seek_to);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* made = nullptr;
  // No threads: a confined process may not start any.
  const bool is_read = opj_setup_decoder(codec.get(), &parameters) && opj_codec_set_threads(codec.get(), 0) &&
                       opj_decoder_set_strict_mode(codec.get(), OPJ_TRUE) &&
                       opj_read_header(stream.get(), codec.get(), &made);
  Image image(made);
  if (!is_read || !image || !opj_decode(codec.get(), stream.get(), image.get()) ||
      !opj_end_decompress(codec.get(), stream.get()) || !complaint.words.empty())
    fail_undecoded(complaint);
  return image;
}

/// Samples of a pixel side by side, little endian, as wide as the header allocates.
void put_samples(const opj_image_t& image, const EncodedPixels& encoded, std::span<std::byte> out) {
  const auto pixels = static_cast<std::size_t>(encoded.rows) * static_cast<std::size_t>(encoded.columns);
  const auto samples = static_cast<std::size_t>(encoded.samples);
  const std::size_t width = out.size() / pixels / samples;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const opj_image_comp_t& component = image.comps[sample];
    const bool fits = static_cast<int64_t>(component.w) == encoded.columns &&
                      static_cast<int64_t>(component.h) == encoded.rows && component.data != nullptr;
    if (!fits) fail_undecoded({});
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
      const auto bits = static_cast<uint32_t>(component.data[pixel]);
      std::byte* const to = out.data() + (pixel * samples + sample) * width;
      for (std::size_t i = 0; i < width; ++i)
        to[i] = i < 4 ? static_cast<std::byte>(bits >> (8 * i)) : std::byte{0};
    }
  }
}

}  // namespace

bool is_decoded_by_openjpeg(const std::string& transfer_syntax) {
  return transfer_syntax == lossless_2000 || transfer_syntax == any_2000;
}

DecodedForm decode_by_openjpeg(const EncodedPixels& encoded, std::span<std::byte> out) {
  const std::size_t frame_size = decoded_frame_bytes(encoded);
  std::vector<std::byte> joined;
  std::size_t at = 0;
  for (const FramePieces pieces : find_frame_pieces(encoded)) {
    const std::span<const std::byte> stream = join_pieces(encoded, pieces, joined);
    CodestreamWalk(stream, encoded).walk();
    put_samples(*decode_codestream(stream), encoded, out.subspan(at, frame_size));
    at += frame_size;
  }
  // The transform of colours is part of the codestream, and OpenJPEG has undone it. Source: PS3.5 8.2.4.
  const bool was_transformed = encoded.photometric == "YBR_RCT" || encoded.photometric == "YBR_ICT";
  return {.photometric = was_transformed ? "RGB" : encoded.photometric, .by_plane = false};
}

}  // namespace larmor
