#include "larmor/codec/shared_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

constexpr std::size_t at_once = std::size_t{8} << 20;

[[noreturn]] void fail_sharing(int code, std::size_t size) {
  fail(Exit::environment,
       text("cannot share ", human_bytes(size), " of memory with the decoder: ", std::strerror(code)),
       "free memory, or ask the scheduler for more");
}

}  // namespace

SharedMemory SharedMemory::create(std::size_t size) {
  Descriptor memory(::memfd_create("larmor-decode", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.is_open()) fail_sharing(errno, size);
  const auto lengthen = [&] { return ::ftruncate(memory.number(), static_cast<off_t>(size)); };
  const bool is_sealed =
      after_signals(lengthen) == 0 &&
      ::fcntl(memory.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  if (!is_sealed) fail_sharing(errno, size);
  return map(std::move(memory), size);
}

SharedMemory SharedMemory::map(Descriptor memory, std::size_t size) { return {std::move(memory), size}; }

SharedMemory::SharedMemory(Descriptor memory, std::size_t size) : memory_(std::move(memory)) {
  // A slice gets its pages at once, which costs less than a fault for each; what is larger gets them as it is
  // used, so that a claim alone takes none.
  const int pages = size <= at_once ? MAP_POPULATE : 0;
  void* const begin = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | pages, memory_.number(), 0);
  if (begin == MAP_FAILED) fail_sharing(errno, size);
  view_ = {static_cast<std::byte*>(begin), size};
}

void SharedMemory::move_out(std::size_t begin, std::span<std::byte> out) {
  constexpr std::size_t many = std::size_t{64} << 20, piece = std::size_t{4} << 20;
  const std::size_t step = out.size() < many ? std::max<std::size_t>(out.size(), 1) : piece;
  for (std::size_t at = 0; at < out.size(); at += step) {
    const auto part = view_.subspan(begin + at, std::min(step, out.size() - at));
    std::memcpy(out.data() + at, part.data(), part.size());
    if (step != piece) continue;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t from = (begin + at + page - 1) / page * page,
                      to = (begin + at + part.size()) / page * page;
    // Where the kernel will not, the memory goes with the rest.
    if (from < to) static_cast<void>(::madvise(view_.data() + from, to - from, MADV_REMOVE));
  }
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : memory_(std::move(other.memory_)), view_(std::exchange(other.view_, {})) {}

SharedMemory::~SharedMemory() {
  if (view_.data() != nullptr) ::munmap(view_.data(), view_.size());
}

}  // namespace larmor
