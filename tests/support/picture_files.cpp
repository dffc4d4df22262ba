#include "tests/support/picture_files.h"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include <libdeflate.h>
#include <spng.h>
#include <turbojpeg.h>

#include "larmor/formats/gzip.h"

#include "tests/support/image_files.h"

namespace larmor::testing {

namespace {

void check_picture(int code) {
  if (code != 0) throw std::runtime_error(spng_strerror(code));
}

/// As libspng takes them: 16 bits in the machine's order, fewer than 8 packed from the left.
std::string laid_out_rows(int rows, int bits, const std::vector<uint16_t>& samples) {
  std::string bytes;
  const std::size_t a_row = samples.size() / static_cast<std::size_t>(rows);
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    unsigned held = 0;
    int filled = 0;
    for (std::size_t i = row * a_row; i < (row + 1) * a_row; ++i) {
      if (bits == 16) {
        const uint16_t word = samples[i];
        bytes.append(reinterpret_cast<const char*>(&word), 2);
        continue;
      }
      held = held << bits | samples[i];
      filled += bits;
      if (filled == 8) {
        bytes += static_cast<char>(held);
        held = 0;
        filled = 0;
      }
    }
    if (filled > 0) bytes += static_cast<char>(held << (8 - filled));
  }
  return bytes;
}

}  // namespace

std::string png_of(int columns, int rows, PngKind kind, int bits, const std::vector<uint16_t>& samples,
                   bool interlaced) {
  const std::unique_ptr<spng_ctx, decltype(&spng_ctx_free)> context(spng_ctx_new(SPNG_CTX_ENCODER),
                                                                    &spng_ctx_free);
  spng_ihdr header{};
  header.width = static_cast<uint32_t>(columns);
  header.height = static_cast<uint32_t>(rows);
  header.bit_depth = static_cast<uint8_t>(bits);
  header.color_type = static_cast<uint8_t>(kind);
  header.interlace_method = interlaced ? SPNG_INTERLACE_ADAM7 : SPNG_INTERLACE_NONE;
  check_picture(spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1));
  check_picture(spng_set_ihdr(context.get(), &header));
  if (kind == PngKind::palette) {
    spng_plte palette{};
    palette.n_entries = 1U << bits;
    for (uint32_t i = 0; i < palette.n_entries; ++i) {
      palette.entries[i].red = static_cast<uint8_t>(i);
      palette.entries[i].green = static_cast<uint8_t>(2 * i);
      palette.entries[i].blue = static_cast<uint8_t>(3 * i);
    }
    check_picture(spng_set_plte(context.get(), &palette));
  }
  const std::string bytes = laid_out_rows(rows, bits, samples);
  check_picture(
      spng_encode_image(context.get(), bytes.data(), bytes.size(), SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE));
  std::size_t size = 0;
  int code = 0;
  const std::unique_ptr<void, decltype(&std::free)> file(spng_get_png_buffer(context.get(), &size, &code),
                                                         &std::free);
  check_picture(code);
  return {static_cast<const char*>(file.get()), size};
}

std::string png_of_rows(int columns, int rows, PngKind kind, int bits, const std::string& filtered,
                        int pieces) {
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor(
      libdeflate_alloc_compressor(6), &libdeflate_free_compressor);
  std::string packed(libdeflate_zlib_compress_bound(compressor.get(), filtered.size()), '\0');
  packed.resize(libdeflate_zlib_compress(compressor.get(), filtered.data(), filtered.size(), packed.data(),
                                         packed.size()));
  const auto chunk = [](const std::string& name, const std::string& content) {
    return published(static_cast<uint32_t>(content.size()), true) + name + content + std::string(4, '\0');
  };
  std::string header = published(int32_t{columns}, true) + published(int32_t{rows}, true);
  header += {static_cast<char>(bits), static_cast<char>(kind), 0, 0, 0};
  std::string file = "\x89PNG\r\n\x1a\n" + chunk("IHDR", header);
  const std::size_t piece = packed.size() / static_cast<std::size_t>(pieces) + 1;
  for (std::size_t at = 0; at < packed.size(); at += piece) file += chunk("IDAT", packed.substr(at, piece));
  return with_check_sums(file + chunk("IEND", ""));
}

std::string with_check_sums(std::string png) {
  constexpr std::size_t signature = 8, frame = 12;
  std::size_t at = signature;
  while (at + frame <= png.size()) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length = length << 8 | static_cast<unsigned char>(png[at + i]);
    if (length > png.size() - at - frame) break;
    const uint32_t sum = crc32(as_bytes(std::string_view(png).substr(at + 4, length + 4)));
    png.replace(at + 8 + length, 4, published(sum, true));
    at += frame + length;
  }
  return png;
}

int ramp(int column, int row, int channel) { return (40 + 3 * column + 2 * row + 30 * channel) % 256; }

std::string jpeg_of(int columns, int rows, int channels, int quality, bool progressive) {
  std::vector<unsigned char> pixels;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      for (int channel = 0; channel < channels; ++channel)
        pixels.push_back(static_cast<unsigned char>(ramp(column, row, channel)));
    }
  }
  const std::unique_ptr<void, decltype(&tjDestroy)> handle(tjInitCompress(), &tjDestroy);
  unsigned char* file = nullptr;
  unsigned long size = 0;
  const int code =
      tjCompress2(handle.get(), pixels.data(), columns, 0, rows, channels == 1 ? TJPF_GRAY : TJPF_RGB, &file,
                  &size, channels == 1 ? TJSAMP_GRAY : TJSAMP_444, quality,
                  TJFLAG_ACCURATEDCT | (progressive ? TJFLAG_PROGRESSIVE : 0));
  const std::unique_ptr<unsigned char, decltype(&tjFree)> owner(file, &tjFree);
  if (code != 0) throw std::runtime_error(tjGetErrorStr2(handle.get()));
  return {reinterpret_cast<const char*>(file), size};
}

}  // namespace larmor::testing
