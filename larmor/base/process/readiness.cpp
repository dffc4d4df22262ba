#include "larmor/base/process/readiness.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

bool wait_for_any(std::span<pollfd> watched, std::chrono::milliseconds limit) {
  const auto milliseconds =
      static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(limit.count(), -1, INT_MAX));
  const int ready = ::poll(watched.data(), watched.size(), milliseconds);
  if (ready >= 0) return ready > 0;
  const int code = errno;
  for (pollfd& one : watched) one.revents = 0;
  if (code != EINTR)
    fail(Exit::environment, text("cannot wait for ", watched.size(), " descriptors: ", std::strerror(code)),
         code == EINVAL ? "raise the limit of open files (ulimit -n)" : "free memory");
  return false;
}

}  // namespace larmor
