#include "larmor/net/key_file.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/hash.h"
#include "larmor/base/random_bytes.h"
#include "larmor/base/text.h"
#include "larmor/net/socket.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

constexpr mode_t of_others = S_IRWXG | S_IRWXO, write_of_others = S_IWGRP | S_IWOTH;

[[noreturn]] void refuse_file(const fs::path& file, const std::string& why) {
  fail(Exit::environment, text("the key of the run, ", file.string(), ", ", why),
       "the leader of a run makes it in run.folder/.rendezvous, which all hosts share; a file that "
       "LARMOR_RUN_KEY_FILE names holds 64 hexadecimal digits and has the mode 0600 or 0400");
}

/// What tells this host's loopback from another's.
std::string own_network() {
  std::array<char, 64> network{};
  const auto length = readlink("/proc/self/ns/net", network.data(), network.size());
  const std::string_view name(network.data(), length > 0 ? static_cast<size_t>(length) : 0);
  return text(trim(read_text("/proc/sys/kernel/random/boot_id")), " ", name);
}

/// The folder is made if need be. In one that others may write in, they could put their own key.
void open_folder(const fs::path& folder) {
  DiskStorage().create_folders(folder);
  struct stat status{};
  if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
      (status.st_mode & write_of_others) != 0) {
    fail(Exit::environment,
         text(folder.string(), " is no folder that this user alone can write in, so no key is put there"),
         "remove it, and see who can write in the folder above it; or name a key by LARMOR_RUN_KEY_FILE");
  }
}

void write_all(int descriptor, std::string_view words, const fs::path& file) {
  if (write(descriptor, words.data(), words.size()) != std::ssize(words) || fsync(descriptor) != 0)
    refuse_file(file, text("cannot be written: ", std::strerror(errno)));
}

}  // namespace

KeyFile KeyFile::named(fs::path file) { return {std::move(file), /*is_ours=*/false}; }

KeyFile KeyFile::of_rendezvous(const fs::path& run_folder, const std::string& address, int port) {
  const auto place = text(address, ":", port, is_loopback(address) ? " " + own_network() : "");
  return {fs::absolute(run_folder) / ".rendezvous" / sha256(place), /*is_ours=*/true};
}

RunKey KeyFile::renew() const {
  if (!is_ours_) return read();
  const auto key = RunKey::draw();
  // Beside it, and renamed over it: a follower never reads half of a key.
  const auto beside = path_.parent_path() / text(path_.filename().string(), ".", random_name());
  Descriptor file;
  // A start that has met removes the folder when it is empty: then it is made again.
  for (int attempt = 0; attempt < 3 && !file.is_open(); ++attempt) {
    open_folder(path_.parent_path());
    file = Descriptor(open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  }
  if (!file.is_open()) refuse_file(path_, text("cannot be made: ", std::strerror(errno)));
  try {
    write_all(file.number(), key.hex() + "\n", path_);
    if (rename(beside.c_str(), path_.c_str()) != 0)
      refuse_file(path_, text("cannot be renewed: ", std::strerror(errno)));
  } catch (...) {
    unlink(beside.c_str());
    throw;
  }
  return key;
}

RunKey KeyFile::read() const {
  // A mounted secret is a link; in our own folder there is none to follow.
  const int no_link = is_ours_ ? O_NOFOLLOW : 0;
  const Descriptor file(open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | no_link));
  if (!file.is_open()) refuse_file(path_, text("cannot be read: ", std::strerror(errno)));
  struct stat status{};
  if (fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) refuse_file(path_, "is no file");
  if ((status.st_mode & of_others) != 0)
    refuse_file(path_, "can be read or written by others than its owner");
  if (status.st_uid != geteuid() && status.st_uid != 0) refuse_file(path_, "belongs to another user");
  constexpr size_t most_bytes = 66;  // a line's end of one or two bytes behind the digits
  std::array<char, most_bytes + 1> words{};
  const auto length = ::read(file.number(), words.data(), words.size());
  const std::string_view digits(words.data(), length > 0 ? static_cast<size_t>(length) : 0);
  const auto key = digits.size() > most_bytes ? std::nullopt : RunKey::from_hex(trim(digits));
  wipe(std::as_writable_bytes(std::span(words)));
  if (!key) refuse_file(path_, "does not hold a key");
  return *key;
}

void KeyFile::remove(const RunKey& key) const {
  if (!is_ours_) return;
  try {
    if (read() == key) unlink(path_.c_str());
    rmdir(path_.parent_path().c_str());  // unless another start's lies there
  } catch (const Error&) {               // it is gone, or another's
  }
}

}  // namespace larmor
