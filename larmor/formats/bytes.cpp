#include "larmor/formats/bytes.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/stage_clock.h"

namespace larmor {

namespace {

// What even a slow network file system gives in seconds: after each piece the reader's thread shows that it
// goes on.
constexpr std::size_t longest_read = std::size_t{64} << 20;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// How much of it there was.
std::size_t read_pieces(std::FILE* file, std::byte* to, std::size_t size) {
  std::size_t read = 0;
  while (read < size) {
    const StageScope piece(LoadStage::read);
    const std::size_t wanted = std::min(size - read, longest_read);
    const std::size_t given = std::fread(to + read, 1, wanted, file);
    read += given;
    if (given < wanted) break;
  }
  return read;
}

}  // namespace

Bytes read_file(const std::filesystem::path& path, uint64_t limit) {
  const StageScope stage(LoadStage::read);
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) fail(Exit::data, "no such file", "check the path");
  if (std::filesystem::is_directory(status)) fail(Exit::data, "is a folder, not a file", "name a file in it");
  if (!std::filesystem::is_regular_file(status)) fail(Exit::data, "is not a regular file");
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) fail(Exit::data, text("cannot be read: ", error.message()));
  if (size > limit) {
    fail(Exit::data,
         text("is ", human_bytes(size), " long, more than the ", human_bytes(limit), " that are read"));
  }
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file) fail(Exit::data, text("cannot be opened: ", std::strerror(errno)), "check its permissions");
  std::setvbuf(file.get(), nullptr, _IONBF, 0);
  Bytes bytes(size);
  const std::size_t read = read_pieces(file.get(), bytes.data(), size);
  if (read != size) fail(Exit::data, text("could only be read up to byte ", read, " of ", size));
  return bytes;
}

}  // namespace larmor
