#include "larmor/codec/frame_pieces.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

constexpr std::size_t item_header = 8;  // tag and length of a piece, which offsets count too

bool begins_stream(std::span<const std::byte> piece) {
  if (piece.size() < 2 || piece[0] != std::byte{0xff}) return false;
  return piece[1] == std::byte{0xd8} || piece[1] == std::byte{0x4f};  // of JPEG and JPEG-LS; of JPEG 2000
}

uint32_t word_at(std::span<const std::byte> bytes, std::size_t at) {
  uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) word |= std::to_integer<uint32_t>(bytes[at + i]) << (8 * i);
  return word;
}

/// From the indices of the pieces that frames begin with; nothing when they are not as many as frames.
std::optional<std::vector<FramePieces>> from_beginnings(const EncodedPixels& encoded,
                                                        const std::vector<std::size_t>& beginnings) {
  if (beginnings.size() != static_cast<std::size_t>(encoded.frames) || beginnings.front() != 1)
    return std::nullopt;
  std::vector<FramePieces> all;
  for (std::size_t i = 0; i < beginnings.size(); ++i) {
    all.push_back({beginnings[i], i + 1 < beginnings.size() ? beginnings[i + 1] : encoded.fragments.size()});
  }
  return all;
}

/// Nothing when the table is empty or names a place where no piece begins.
std::optional<std::vector<FramePieces>> by_table(const EncodedPixels& encoded) {
  const std::span<const std::byte> table = encoded.fragments.front();
  if (table.size() != 4 * static_cast<std::size_t>(encoded.frames)) return std::nullopt;
  std::vector<std::size_t> beginnings;
  std::size_t piece = 1;
  uint64_t offset = 0;
  for (std::size_t frame = 0; 4 * frame < table.size(); ++frame) {
    const uint32_t wanted = word_at(table, 4 * frame);
    while (piece < encoded.fragments.size() && offset < wanted) {
      offset += item_header + encoded.fragments[piece++].size();
    }
    const bool is_later = beginnings.empty() || piece > beginnings.back();
    if (piece == encoded.fragments.size() || offset != wanted || !is_later) return std::nullopt;
    beginnings.push_back(piece);
  }
  return from_beginnings(encoded, beginnings);
}

std::optional<std::vector<FramePieces>> by_stream(const EncodedPixels& encoded) {
  if (encoded.transfer_syntax == rle_lossless_syntax) return std::nullopt;  // it has no mark at its beginning
  std::vector<std::size_t> beginnings;
  for (std::size_t i = 1; i < encoded.fragments.size(); ++i) {
    if (begins_stream(encoded.fragments[i])) beginnings.push_back(i);
  }
  return beginnings.empty() ? std::nullopt : from_beginnings(encoded, beginnings);
}

}  // namespace

std::vector<FramePieces> find_frame_pieces(const EncodedPixels& encoded) {
  const std::size_t pieces = encoded.fragments.empty() ? 0 : encoded.fragments.size() - 1;
  const auto frames = static_cast<std::size_t>(std::max(encoded.frames, 1));
  if (frames > pieces) {
    fail(Exit::data,
         text("is cut short: it claims ", frames, " frames, but its pixels are in ", encoded.fragments.size(),
              " pieces, the table of offsets among them"),
         "fetch the file again");
  }
  if (frames == 1) return {{1, encoded.fragments.size()}};
  if (frames == pieces) {
    std::vector<FramePieces> all;
    for (std::size_t i = 1; i <= frames; ++i) all.push_back({i, i + 1});
    return all;
  }
  if (auto all = by_table(encoded)) return *all;
  if (auto all = by_stream(encoded)) return *all;
  fail(Exit::data,
       text("has ", frames, " compressed frames in ", pieces,
            " pieces, and does not say which belong together"),
       "fetch the file again");
}

std::span<const std::byte> join_pieces(const EncodedPixels& encoded, FramePieces pieces,
                                       std::vector<std::byte>& joined) {
  if (pieces.end == pieces.begin + 1) return encoded.fragments[pieces.begin];
  joined.clear();
  for (std::size_t i = pieces.begin; i < pieces.end; ++i)
    joined.insert(joined.end(), encoded.fragments[i].begin(), encoded.fragments[i].end());
  return joined;
}

}  // namespace larmor
