#include "larmor/formats/bytes.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/stage_clock.h"

namespace larmor {

namespace {

// What even a slow network file system gives in seconds: after each piece the reader's thread shows that it
// goes on.
constexpr std::size_t longest_read = std::size_t{64} << 20;

/// How much of it there was.
std::size_t read_pieces(const RegularFile& file, std::span<std::byte> to) {
  std::size_t read = 0;
  while (read < to.size()) {
    const StageScope piece(LoadStage::read);
    const auto wanted = to.subspan(read, std::min(to.size() - read, longest_read));
    const std::size_t given = file.read_at(read, wanted);
    read += given;
    if (given < wanted.size()) break;
  }
  return read;
}

}  // namespace

Bytes read_file(const std::filesystem::path& path, uint64_t limit) {
  const StageScope stage(LoadStage::read);
  return read_file(open_regular(path), limit);
}

Bytes read_file(const RegularFile& file, uint64_t limit) {
  const StageScope stage(LoadStage::read);
  const uint64_t size = file.size();
  if (size > limit) {
    fail(Exit::data,
         text("is ", human_bytes(size), " long, more than the ", human_bytes(limit), " that are read"));
  }
  Bytes bytes(size);
  const std::size_t read = read_pieces(file, bytes.view());
  if (read != size) fail(Exit::data, text("could only be read up to byte ", read, " of ", size));
  return bytes;
}

}  // namespace larmor
