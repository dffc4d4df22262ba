#include "larmor/codec/jpeg_picture.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <turbojpeg.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

struct Destroy {
  void operator()(void* handle) const { tjDestroy(handle); }
};

const unsigned char* as_unsigned(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

[[noreturn]] void fail_damaged(void* handle) {
  const std::string reason = tjGetErrorStr2(handle);
  if (reason.find("Premature end") != std::string::npos)
    fail(Exit::data, "the JPEG data is cut short", "fetch the file again");
  fail(Exit::data, text("the JPEG data is damaged or of a kind that is not read: ", reason),
       "fetch the file again, or save it as baseline JPEG");
}

/// Whether the colours, or the halves of their precision, come one after the other. All of them have to be
/// held until the last has come. Source: ITU-T T.81, B.2.
bool comes_in_scans(std::span<const std::byte> bytes) {
  const auto number = [&](std::size_t at) { return std::to_integer<unsigned>(bytes[at]); };
  unsigned components = 0;
  for (std::size_t at = 2; at + 10 < bytes.size() && number(at) == 0xff;) {
    const unsigned marker = number(at + 1);
    if (marker == 0xff) {  // a fill byte
      ++at;
      continue;
    }
    const bool is_frame =
        marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (is_frame && (marker & 3) == 2) return true;  // progressive
    if (is_frame) components = number(at + 9);
    if (marker == 0xda) return number(at + 4) < components;
    at += 2 + (number(at + 2) << 8 | number(at + 3));
  }
  return false;
}

/// Two bytes a sample, on top of the pixels.
void refuse_large_scans(std::span<const std::byte> bytes, int columns, int rows, uint64_t components) {
  constexpr uint64_t most = uint64_t{256} << 20, most_of_file = 64;
  const uint64_t held = 2 * components * static_cast<uint64_t>(columns) * static_cast<uint64_t>(rows);
  if (held <= std::max(most, most_of_file * bytes.size()) || !comes_in_scans(bytes)) return;
  fail(Exit::data,
       text("is a progressive JPEG of ", columns, " x ", rows, " pixels, which takes ", human_bytes(held),
            " to decode, and the file has ", human_bytes(bytes.size())),
       "save it as baseline JPEG or PNG");
}

/// A stream without the stray bytes between the segments before its first scan, which harm no pixel. Behind
/// that they mean that the decoder ended elsewhere than the encoder.
class CleanStream {
 public:
  explicit CleanStream(std::span<const std::byte> bytes) : bytes_(bytes) {
    constexpr unsigned start_of_scan = 0xda, stuffed = 0x00, temporary = 0x01;
    std::size_t at = 2, kept = 0;
    while (at + 3 < bytes.size()) {
      const std::size_t marker = next_marker(at);
      if (marker > at && marker + 1 < bytes.size()) {
        cleaned_.insert(cleaned_.end(), bytes.begin() + static_cast<std::ptrdiff_t>(kept),
                        bytes.begin() + static_cast<std::ptrdiff_t>(at));
        kept = marker;
      }
      at = marker;
      if (at + 3 >= bytes.size() || value(at + 1) == start_of_scan) break;
      const bool has_no_length =
          value(at + 1) == temporary || (value(at + 1) >= 0xd0 && value(at + 1) <= 0xd9);
      if (has_no_length || value(at + 1) == stuffed) break;
      at += 2 + (value(at + 2) << 8U | value(at + 3));
    }
    if (kept == 0) return;
    cleaned_.insert(cleaned_.end(), bytes.begin() + static_cast<std::ptrdiff_t>(kept), bytes.end());
    bytes_ = cleaned_;
  }
  CleanStream(const CleanStream&) = delete;

  /// Borrowed where there was nothing to clean.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  unsigned value(std::size_t at) const { return std::to_integer<unsigned>(bytes_[at]); }
  std::size_t next_marker(std::size_t at) const {
    constexpr unsigned begins_marker = 0xff;
    while (at + 1 < bytes_.size() &&
           (value(at) != begins_marker || value(at + 1) == 0 || value(at + 1) == begins_marker))
      ++at;
    return at;
  }

  std::span<const std::byte> bytes_;
  std::vector<std::byte> cleaned_;
};

/// A block of 64 pixels takes a bit at least, so more pixels than that are a lie.
void refuse_bomb(int columns, int rows, std::size_t file) {
  constexpr uint64_t pixels_per_byte = 512, slack = 65536;
  const uint64_t pixels = static_cast<uint64_t>(columns) * static_cast<uint64_t>(rows);
  if (pixels <= pixels_per_byte * file + slack) return;
  fail(Exit::data, text("is cut short: its header claims ", columns, " x ", rows, " pixels, which ", file,
                        " bytes cannot hold"));
}

}  // namespace

Unpacked unpack_jpeg(std::span<const std::byte> file, bool grey, std::span<std::byte> out) {
  const CleanStream clean(file);
  const std::span<const std::byte> bytes = clean.bytes();
  const std::unique_ptr<void, Destroy> handle(tjInitDecompress());
  if (!handle) throw std::bad_alloc();
  int columns = 0, rows = 0, subsampling = 0, colours = 0;
  if (tjDecompressHeader3(handle.get(), as_unsigned(bytes), bytes.size(), &columns, &rows, &subsampling,
                          &colours) != 0)
    fail_damaged(handle.get());
  if (colours == TJCS_CMYK || colours == TJCS_YCCK)
    fail(Exit::data, "is a CMYK picture, which is meant for printing", "save it as grey or RGB");
  refuse_bomb(columns, rows, bytes.size());
  refuse_large_scans(bytes, columns, rows, colours == TJCS_GRAY ? 1 : 3);
  const int format = grey || colours == TJCS_GRAY ? TJPF_GRAY : TJPF_RGB;
  Unpacked picture{.columns = columns, .rows = rows, .samples = tjPixelSize[format], .sample_bytes = 1};
  const uint64_t needed =
      static_cast<uint64_t>(columns) * static_cast<uint64_t>(rows) * static_cast<uint64_t>(picture.samples);
  if (needed > out.size()) {
    picture.end = Unpacked::End::full;
    return picture;
  }
  // Accurate, because PIL and torchvision decode so; progressive scans are limited, because each costs a
  // pass.
  const int flags = TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS;
  const int code =
      tjDecompress2(handle.get(), as_unsigned(bytes), bytes.size(),
                    reinterpret_cast<unsigned char*>(out.data()), columns, 0, rows, format, flags);
  // Each warning means that pixels were invented.
  if (code != 0) fail_damaged(handle.get());
  picture.given = needed;
  return picture;
}

}  // namespace larmor
