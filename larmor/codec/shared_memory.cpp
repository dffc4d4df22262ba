#include "larmor/codec/shared_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

constexpr std::size_t at_once = std::size_t{8} << 20;

[[noreturn]] void fail_sharing(int code, int descriptor, std::size_t size) {
  if (descriptor >= 0) ::close(descriptor);
  fail(Exit::environment,
       text("cannot share ", human_bytes(size), " of memory with the decoder: ", std::strerror(code)),
       "free memory, or ask the scheduler for more");
}

}  // namespace

SharedMemory SharedMemory::create(std::size_t size) {
  const int descriptor = ::memfd_create("larmor-decode", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) fail_sharing(errno, descriptor, size);
  const bool is_sealed = ::ftruncate(descriptor, static_cast<off_t>(size)) == 0 &&
                         ::fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  if (!is_sealed) fail_sharing(errno, descriptor, size);
  return map(descriptor, size);
}

SharedMemory SharedMemory::map(int descriptor, std::size_t size) { return {descriptor, size}; }

SharedMemory::SharedMemory(int descriptor, std::size_t size) : descriptor_(descriptor) {
  // A slice gets its pages at once, which costs less than a fault for each; what is larger gets them as it is
  // used, so that a claim alone takes none.
  const int pages = size <= at_once ? MAP_POPULATE : 0;
  void* const begin = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | pages, descriptor, 0);
  if (begin == MAP_FAILED) fail_sharing(errno, std::exchange(descriptor_, -1), size);
  view_ = {static_cast<std::byte*>(begin), size};
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), view_(std::exchange(other.view_, {})) {}

SharedMemory::~SharedMemory() {
  if (view_.data() != nullptr) ::munmap(view_.data(), view_.size());
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace larmor
