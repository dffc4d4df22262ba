#include "larmor/base/files/lock_holder.h"

#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/process/descriptor.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"

namespace larmor {

std::string content_of_lock(const Descriptor& file) {
  std::array<char, 1024> content;
  const ssize_t size =
      after_signals([&] { return ::pread(file.number(), content.data(), content.size(), 0); });
  return std::string(trim({content.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))}));
}

std::optional<std::string> lock_holder(const std::filesystem::path& path) {
  const Descriptor file(
      after_signals([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); }));
  if (!file.is_open()) return std::nullopt;
  // A shared lock, so that several who ask do not take one another for a holder.
  if (::flock(file.number(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return std::nullopt;
  return content_of_lock(file);
}

}  // namespace larmor
