// Which pieces of encapsulated pixels belong to which frame. Source: DICOM PS3.5 annex A.4.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "larmor/codec/encoded_pixels.h"

namespace larmor {

/// Indices into EncodedPixels::fragments: [begin, end).
struct FramePieces {
  std::size_t begin = 0, end = 0;
};

/// One entry a frame. One piece a frame where the numbers fit, all pieces of a single frame, else as the
/// table of offsets says, else (but for RLE) wherever a piece begins a stream. Throws Error (data):
/// fewer pieces than frames, pieces that cannot be told apart.
std::vector<FramePieces> find_frame_pieces(const EncodedPixels& encoded);

/// The bytes of one frame in one row; `joined` keeps them where they lie in several pieces.
std::span<const std::byte> join_pieces(const EncodedPixels& encoded, FramePieces pieces,
                                       std::vector<std::byte>& joined);

}  // namespace larmor
