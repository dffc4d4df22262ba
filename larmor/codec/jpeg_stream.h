// The markers of a JPEG or JPEG-LS stream, walked as far as its end. Decoders take a stream that ends early
// for a picture whose rest is grey; here it is refused before one sees it. Source: ITU-T T.81 annexes B and
// G, ITU-T T.87 annex C.
#pragma once

#include <cstddef>
#include <span>

#include "larmor/codec/encoded_pixels.h"

namespace larmor {

struct JpegStream {
  int precision = 0;  // bits a sample
  bool is_jpeg_ls = false;
  bool says_ybr = false;  // lossy, in three colours, which its own markers (JFIF, Adobe) say are YCbCr
};

/// The stream states the size of the header; each of its components has a scan, a progressive one all bits of
/// all coefficients; and it ends with its marker of the end. What follows that is not looked at. Whether the
/// bits of a scan suffice, its decoder has to say. Throws Error (data).
JpegStream check_jpeg_stream(std::span<const std::byte> stream, const EncodedPixels& encoded);

}  // namespace larmor
