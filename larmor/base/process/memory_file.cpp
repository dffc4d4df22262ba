#include "larmor/base/process/memory_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

Descriptor memory_file(std::string_view bytes, const std::string& what) {
  Descriptor file(memfd_create("larmor", MFD_CLOEXEC));
  if (!file.is_open() || pwrite(file.number(), bytes.data(), bytes.size(), 0) != std::ssize(bytes)) {
    fail(Exit::environment, text("cannot keep ", what, " in memory: ", std::strerror(errno)),
         "free memory, or raise the limit of open files");
  }
  return file;
}

std::string read_memory_file(int descriptor, const std::string& variable) {
  struct stat facts{};
  std::string bytes;
  if (fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode))
    bytes.resize(static_cast<size_t>(facts.st_size));
  const bool is_read =
      !bytes.empty() && pread(descriptor, bytes.data(), bytes.size(), 0) == std::ssize(bytes);
  if (!is_read || fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) {
    fail(Exit::usage, text(variable, "=", descriptor, " is no file of larmor's"),
         "only larmor's own launcher sets this variable: unset it");
  }
  return bytes;
}

}  // namespace larmor
