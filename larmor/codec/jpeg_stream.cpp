#include "larmor/codec/jpeg_stream.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <string_view>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

constexpr int start_of_image = 0xd8, end_of_image = 0xd9, start_of_scan = 0xda;
constexpr int progressive_frame = 0xc2, jpeg_ls_frame = 0xf7;

bool begins_frame(int marker) {
  return marker == jpeg_ls_frame ||
         (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc);
}

class JpegWalk {
 public:
  JpegWalk(std::span<const std::byte> stream, const EncodedPixels& encoded)
      : stream_(stream), encoded_(encoded) {}

  JpegStream walk() {
    if (stream_.size() < 2 || byte(0) != 0xff || byte(1) != start_of_image) fail_damaged();
    at_ = 2;
    for (int marker = next_marker(); marker != end_of_image; marker = next_marker()) {
      // Markers without a length stand within scans or nowhere.
      if (marker < 0xc0 || (marker >= 0xd0 && marker <= 0xd8)) fail_damaged();
      const std::size_t begin = at_ + 2, length = length_here();
      at_ += length;
      take_application(marker, begin, length - 2);
      if (begins_frame(marker)) take_frame(marker, begin, length - 2);
      if (marker == start_of_scan) {
        take_scan(begin, length - 2);
        skip_scan();
      }
    }
    check_complete();
    const bool is_lossy = frame_ == 0xc0 || frame_ == 0xc1 || frame_ == progressive_frame;
    const bool says_ybr = adobe_transform_ >= 0 ? adobe_transform_ == 1 : is_jfif_;
    return {.precision = precision_,
            .is_jpeg_ls = frame_ == jpeg_ls_frame,
            .says_ybr = is_lossy && missing_.size() == 3 && says_ybr};
  }

 private:
  int byte(std::size_t at) const { return std::to_integer<int>(stream_[at]); }

  /// Passes over it, and over fill bytes before it.
  int next_marker() {
    if (at_ < stream_.size() && byte(at_) != 0xff) fail_damaged();
    while (at_ < stream_.size() && byte(at_) == 0xff) ++at_;
    if (at_ == stream_.size()) fail_short();
    return byte(at_++);
  }

  std::size_t length_here() const {
    if (stream_.size() - at_ < 2) fail_short();
    const auto length = static_cast<std::size_t>(byte(at_) << 8 | byte(at_ + 1));
    if (length < 2) fail_damaged();
    if (stream_.size() - at_ < length) fail_short();
    return length;
  }

  /// Source: ITU-T T.871; T.872 6.5.3.
  void take_application(int marker, std::size_t begin, std::size_t length) {
    const auto* const letters = reinterpret_cast<const char*>(stream_.data());
    const std::string_view payload(letters + begin, length);
    if (marker == 0xe0 && payload.starts_with(std::string_view("JFIF\0", 5))) is_jfif_ = true;
    if (marker == 0xee && payload.starts_with("Adobe") && length >= 12) adobe_transform_ = byte(begin + 11);
  }

  void take_frame(int marker, std::size_t begin, std::size_t length) {
    if (frame_ != 0 || length < 6) fail_damaged();
    precision_ = byte(begin);
    const int rows = byte(begin + 1) << 8 | byte(begin + 2), columns = byte(begin + 3) << 8 | byte(begin + 4);
    const int samples = byte(begin + 5);
    const bool fits = rows == encoded_.rows && columns == encoded_.columns && samples == encoded_.samples &&
                      precision_ >= 2 && precision_ <= encoded_.bits_allocated;
    if (!fits) {
      fail(Exit::data, text("contradicts itself: its compressed pixels are ", columns, " x ", rows, " of ",
                            samples, " samples of ", precision_, " bits, its header says ", encoded_.columns,
                            " x ", encoded_.rows, " of ", encoded_.samples, " samples"));
    }
    if (length != 6 + 3 * static_cast<std::size_t>(samples)) fail_damaged();
    frame_ = marker;
    for (std::size_t i = begin + 6; i < begin + length; i += 3) missing_[byte(i)].fill(not_sent);
    if (missing_.size() != static_cast<std::size_t>(samples)) fail_damaged();
  }

  /// What a scan brings of each of its components: the bits of some coefficients, or, in every process but
  /// the progressive one, all there is.
  void take_scan(std::size_t begin, std::size_t length) {
    const auto components = static_cast<std::size_t>(length > 0 ? byte(begin) : 0);
    if (frame_ == 0 || components == 0 || length != 4 + 2 * components) fail_damaged();
    const std::size_t end = begin + 1 + 2 * components;
    const bool is_progressive = frame_ == progressive_frame;
    const int first = is_progressive ? byte(end) : 0, last = is_progressive ? byte(end + 1) : 63;
    const int lowest_bit = is_progressive ? byte(end + 2) & 15 : 0;
    if (first > last || last > 63) fail_damaged();
    for (std::size_t i = 0; i < components; ++i) {
      const auto component = missing_.find(byte(begin + 1 + 2 * i));
      if (component == missing_.end()) fail_damaged();
      for (int k = first; k <= last; ++k) component->second[static_cast<std::size_t>(k)] = lowest_bit;
    }
  }

  /// To the next marker that is none of those within a scan: restarts, and (JPEG) a byte FF of the data.
  void skip_scan() {
    const bool is_jpeg_ls = frame_ == jpeg_ls_frame;
    while (true) {
      const void* found =
          at_ < stream_.size() ? std::memchr(stream_.data() + at_, 0xff, stream_.size() - at_) : nullptr;
      if (found == nullptr) fail_short();
      at_ = static_cast<std::size_t>(static_cast<const std::byte*>(found) - stream_.data());
      if (at_ + 1 >= stream_.size()) fail_short();
      const int next = byte(at_ + 1);
      const bool is_data = is_jpeg_ls ? next < 0x80 : next == 0;
      const bool is_restart = next >= 0xd0 && next <= 0xd7;
      if (!is_data && !is_restart && next != 0xff) return;
      at_ += next == 0xff ? 1 : 2;
    }
  }

  void check_complete() const {
    const bool all_sent = std::all_of(missing_.begin(), missing_.end(), [](const auto& component) {
      const auto& bits = component.second;
      return std::all_of(bits.begin(), bits.end(), [](int lowest) { return lowest == 0; });
    });
    if (frame_ == 0) fail_damaged();
    if (!all_sent) fail_short();
  }

  [[noreturn]] void fail_damaged() const {
    if (frame_ == 0) {
      fail(Exit::data, "its compressed pixels are damaged: they do not say their size",
           "fetch the file again");
    }
    fail(Exit::data, text("its compressed pixels are damaged at byte ", at_, " of ", stream_.size()),
         "fetch the file again");
  }

  [[noreturn]] void fail_short() const {
    if (frame_ == 0) fail_damaged();
    fail(Exit::data,
         text("is cut short: its compressed pixels end within a picture, at byte ", at_, " of ",
              stream_.size()),
         "fetch the file again");
  }

  static constexpr int not_sent = 16;  // as the lowest bit of a coefficient

  std::span<const std::byte> stream_;
  const EncodedPixels& encoded_;
  std::size_t at_ = 0;
  int frame_ = 0, precision_ = 0, adobe_transform_ = -1;
  bool is_jfif_ = false;
  std::map<int, std::array<int, 64>>
      missing_;  // by component: the lowest bit that was sent of each coefficient
};

}  // namespace

JpegStream check_jpeg_stream(std::span<const std::byte> stream, const EncodedPixels& encoded) {
  return JpegWalk(stream, encoded).walk();
}

}  // namespace larmor
