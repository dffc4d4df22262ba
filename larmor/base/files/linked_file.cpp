#include "larmor/base/files/linked_file.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

#include <array>
#include <fstream>
#include <span>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/files/whole_file.h"
#include "larmor/base/process/descriptor.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

/// Whether `to` has become a clone of `from`; otherwise it is not there.
bool clone_file(const fs::path& from, const fs::path& to) {
  const Descriptor source(after_signals([&] { return open(from.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (!source.is_open()) return false;
  constexpr mode_t owner_alone = 0600;
  Descriptor target(
      after_signals([&] { return open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, owner_alone); }));
  if (!target.is_open()) return false;
  const auto clone = [&] { return ioctl(target.number(), FICLONE, source.number()); };
  const bool cloned = after_signals(clone) == 0 &&
                      after_signals([&] { return fsync(target.number()); }) == 0 && target.close() == 0;
  if (!cloned) unlink(to.c_str());
  return cloned;
}

void copy_file(Storage& storage, const fs::path& from, const fs::path& to) {
  std::ifstream source(from, std::ios::binary);
  if (!source) fail(Exit::environment, text("cannot read ", from.string()), "check who may read it");
  const auto target = create_whole(storage, to);
  std::array<char, size_t{1} << 16> block{};
  while (source.read(block.data(), block.size()) || source.gcount() > 0)
    target->write(std::as_bytes(std::span(block).first(static_cast<size_t>(source.gcount()))));
  if (source.bad()) fail(Exit::environment, text("cannot read ", from.string()), "look at its disk");
  target->close();
}

}  // namespace

void link_or_copy(Storage& storage, const fs::path& from, const fs::path& to) {
  std::error_code refused;
  const auto file = fs::canonical(from, refused);  // the file, where `from` is a link to it
  if (!refused) fs::create_hard_link(file, to, refused);
  if (!refused || clone_file(from, to)) return;
  copy_file(storage, from, to);
}

}  // namespace larmor
