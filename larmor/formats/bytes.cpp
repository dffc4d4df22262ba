#include "larmor/formats/bytes.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/stage_clock.h"

namespace larmor {

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

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
  const std::size_t read = size == 0 ? 0 : std::fread(bytes.data(), 1, size, file.get());
  if (read != size) fail(Exit::data, text("could only be read up to byte ", read, " of ", size));
  return bytes;
}

}  // namespace larmor
