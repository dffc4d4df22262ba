#include "larmor/launch/status_board.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

/// Phase and step share one word, so that a reader never sees the phase of one step with the number of
/// another. A cell fills a cache line, so that ranks do not slow each other down. Memory of zeros is
/// "starting, step 0".
struct alignas(64) StatusBoard::Cell {
  std::atomic<uint64_t> word;  // step * 16 + phase
};
static_assert(std::atomic<uint64_t>::is_always_lock_free, "a lock would live in one process only");

std::string_view to_text(Phase phase) {
  switch (phase) {
    case Phase::starting:
      return "starting";
    case Phase::waiting_for_data:
      return "waiting for data";
    case Phase::computing:
      return "computing";
    case Phase::communicating:
      return "communicating";
    case Phase::validating:
      return "validating";
    case Phase::saving:
      return "saving";
    case Phase::finished:
      return "finished";
  }
  return "unknown";
}

size_t StatusBoard::bytes() const { return static_cast<size_t>(ranks_) * sizeof(Cell); }

void StatusBoard::map(int descriptor) {
  const int flags = descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, flags, descriptor, 0);
  if (memory == MAP_FAILED) {
    fail(Exit::environment,
         text("cannot map the status board of ", ranks_, " ranks: ", std::strerror(errno)));
  }
  cells_ = static_cast<Cell*>(memory);
}

StatusBoard::StatusBoard(int ranks) : ranks_(ranks) {
  assert(ranks > 0);
  descriptor_ = memfd_create("larmor-status", MFD_CLOEXEC);
  if (descriptor_ < 0 || ftruncate(descriptor_, static_cast<off_t>(bytes())) != 0) {
    const int reason = errno;
    if (descriptor_ >= 0) close(descriptor_);
    fail(Exit::environment,
         text("cannot make the status board of ", ranks, " ranks: ", std::strerror(reason)));
  }
  map(descriptor_);
}

StatusBoard StatusBoard::from_environment(int rank, int ranks) {
  assert(rank >= 0 && rank < ranks);
  StatusBoard board;
  board.ranks_ = ranks;
  const char* name = std::getenv("LARMOR_STATUS_FD");
  if (!name) {
    board.map(-1);
    return board;
  }
  int descriptor = -1;
  const char* end = name + std::strlen(name);
  const bool is_number = std::from_chars(name, end, descriptor).ptr == end && descriptor >= 0;
  struct stat facts{};
  if (!is_number || fstat(descriptor, &facts) != 0 || static_cast<size_t>(facts.st_size) != board.bytes()) {
    fail(Exit::usage,
         text("rank ", rank, ": LARMOR_STATUS_FD=", name, " is not the status board of ", ranks, " ranks"),
         "unset it: only the launcher sets it, for the ranks that it starts");
  }
  board.map(descriptor);
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return board;
}

StatusBoard::~StatusBoard() {
  if (cells_) munmap(cells_, bytes());
  if (descriptor_ >= 0) close(descriptor_);
}

StatusBoard::StatusBoard(StatusBoard&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      ranks_(other.ranks_),
      cells_(std::exchange(other.cells_, nullptr)) {}

void StatusBoard::set(int rank, Phase phase, int64_t step) {
  assert(rank >= 0 && rank < ranks_ && step >= 0);
  const uint64_t word = static_cast<uint64_t>(step) * 16 + static_cast<uint64_t>(phase);
  cells_[rank].word.store(word, std::memory_order_relaxed);
}

Phase StatusBoard::phase(int rank) const {
  assert(rank >= 0 && rank < ranks_);
  return static_cast<Phase>(cells_[rank].word.load(std::memory_order_relaxed) % 16);
}

int64_t StatusBoard::step(int rank) const {
  assert(rank >= 0 && rank < ranks_);
  return static_cast<int64_t>(cells_[rank].word.load(std::memory_order_relaxed) / 16);
}

}  // namespace larmor
