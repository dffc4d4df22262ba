#include "larmor/watch/status_board.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

int64_t board_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

double board_seconds(int64_t nanoseconds) {
  return static_cast<double>(std::max<int64_t>(nanoseconds, 0)) * 1e-9;
}

void raise_to(std::atomic<int64_t>& most, int64_t value) {
  int64_t before = most.load(std::memory_order_relaxed);
  while (value > before && !most.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

struct StatusBoard::Memory {
  std::atomic<int64_t> created;
};

namespace {

constexpr size_t board_line = 64;  // cells begin after one of the header's

}  // namespace

size_t StatusBoard::bytes() const {
  static_assert(sizeof(Memory) <= board_line && alignof(RankCell) == board_line);
  return board_line + static_cast<size_t>(ranks_) * sizeof(RankCell);
}

RankCell& StatusBoard::cell(int rank) const {
  assert(rank >= 0 && rank < ranks_);
  return reinterpret_cast<RankCell*>(reinterpret_cast<std::byte*>(memory_) + board_line)[rank];
}

void StatusBoard::map(int descriptor) {
  const int flags = descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, flags, descriptor, 0);
  if (memory == MAP_FAILED) {
    fail(Exit::environment,
         text("cannot map the status board of ", ranks_, " ranks: ", std::strerror(errno)));
  }
  memory_ = static_cast<Memory*>(memory);
  if (memory_->created.load() == 0) memory_->created = board_nanoseconds();
}

StatusBoard::StatusBoard(int ranks) : ranks_(ranks) {
  assert(ranks > 0);
  shared_.reset(memfd_create("larmor-status", MFD_CLOEXEC));
  const auto lengthen = [&] { return ftruncate(shared_.number(), static_cast<off_t>(bytes())); };
  if (!shared_.is_open() || after_signals(lengthen) != 0) {
    fail(Exit::environment,
         text("cannot make the status board of ", ranks, " ranks: ", std::strerror(errno)));
  }
  map(shared_.number());
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
  if (!is_number || fstat(descriptor, &facts) != 0 || static_cast<size_t>(facts.st_size) != board.bytes() ||
      fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) {
    fail(Exit::usage,
         text("rank ", rank, ": LARMOR_STATUS_FD=", name, " is not the status board of ", ranks, " ranks"),
         "unset it: only the launcher sets it, for the ranks that it starts");
  }
  board.map(descriptor);
  return board;
}

StatusBoard::~StatusBoard() {
  if (memory_) munmap(memory_, bytes());
}

StatusBoard::StatusBoard(StatusBoard&& other) noexcept
    : shared_(std::move(other.shared_)),
      ranks_(other.ranks_),
      memory_(std::exchange(other.memory_, nullptr)) {}

void StatusBoard::show_heartbeat(RankCell& cell, const RankProgress& progress, int64_t now) {
  int64_t before = cell.last_heartbeat.exchange(now, std::memory_order_relaxed);
  if (before == 0) before = memory_->created.load(std::memory_order_relaxed);
  // Silence of a rank that waits for others says nothing about how long it needs itself.
  if (progress.waits_since != 0) return;
  raise_to(cell.longest_quiet[static_cast<size_t>(progress.phase)], now - before);
}

void StatusBoard::set(int rank, Phase phase, int64_t step) {
  assert(step >= 0);
  RankCell& own = cell(rank);
  RankProgress progress = own.progress.read();
  const int64_t now = board_nanoseconds();
  show_heartbeat(own, progress, now);
  progress.add_spent(now);
  progress.began = now;
  progress.phase = phase;
  progress.step = step;
  own.progress.write(progress);
}

void StatusBoard::beat(int rank) {
  RankCell& own = cell(rank);
  show_heartbeat(own, own.progress.read(), board_nanoseconds());
}

void StatusBoard::beat(int rank, Phase during) {
  RankCell& own = cell(rank);
  const RankProgress progress = own.progress.read();
  if (progress.phase == during) show_heartbeat(own, progress, board_nanoseconds());
}

StatusBoard::Ticket StatusBoard::begin(int rank, const Collective& collective) {
  return cell(rank).collectives.begin(collective);
}

void StatusBoard::finish(int rank, const Ticket& ticket) { cell(rank).collectives.finish(ticket); }

void StatusBoard::hold(int rank, Waiter waiter, const Ticket& ticket) {
  RankCell& own = cell(rank);
  if (waiter == Waiter::background) {
    own.background_at.store(ticket.place, std::memory_order_release);
    own.background_since.store(board_nanoseconds(), std::memory_order_release);
    beat(rank, Phase::saving);
    return;
  }
  RankProgress progress = own.progress.read();
  const int64_t now = board_nanoseconds();
  show_heartbeat(own, progress, now);
  progress.add_spent(now);
  progress.began = 0;
  progress.waits_at = ticket.place;
  progress.waits_since = now;
  own.progress.write(progress);
}

void StatusBoard::release(int rank, Waiter waiter) {
  RankCell& own = cell(rank);
  if (waiter == Waiter::background) {
    own.background_since.store(0, std::memory_order_release);
    beat(rank, Phase::saving);
    return;
  }
  RankProgress progress = own.progress.read();
  const int64_t now = board_nanoseconds();
  own.last_heartbeat.store(now, std::memory_order_relaxed);
  const int64_t waited = now - progress.waits_since;
  progress.waited += waited;
  progress.longest_wait = std::max(progress.longest_wait, waited);
  progress.waits_since = 0;
  progress.began = now;
  own.progress.write(progress);
}

Phase StatusBoard::phase(int rank) const { return cell(rank).progress.read().phase; }

int64_t StatusBoard::step(int rank) const { return cell(rank).progress.read().step; }

namespace {

/// Of a wait that began then; 0 where none has.
double waiting_seconds(int64_t since, int64_t now) {
  return since == 0 ? 0 : std::max(board_seconds(now - since), 1e-9);
}

RankStatus status_of(const RankProgress& progress, int64_t now) {
  RankStatus status;
  status.phase = progress.phase;
  status.step = progress.step;
  for (size_t i = 0; i < phase_count; ++i) status.seconds[i] = board_seconds(progress.spent[i]);
  if (progress.began != 0) of(status.seconds, progress.phase) += board_seconds(now - progress.began);
  status.waiting = waiting_seconds(progress.waits_since, now);
  status.waited = board_seconds(progress.waited) + status.waiting;
  status.longest_wait = board_seconds(progress.longest_wait);
  return status;
}

}  // namespace

RankStatus StatusBoard::status(int rank) const {
  const RankCell& own = cell(rank);
  const RankProgress progress = own.progress.read();
  const int64_t now = board_nanoseconds();
  RankStatus status = status_of(progress, now);
  for (size_t i = 0; i < phase_count; ++i)
    status.longest_quiet[i] = board_seconds(own.longest_quiet[i].load(std::memory_order_relaxed));
  const int64_t heartbeat = own.last_heartbeat.load(std::memory_order_relaxed);
  status.quiet =
      board_seconds(now - (heartbeat != 0 ? heartbeat : memory_->created.load(std::memory_order_relaxed)));
  status.background_waiting = waiting_seconds(own.background_since.load(std::memory_order_acquire), now);
  const bool asks_training = status.waiting > 0;
  const uint64_t wanted =
      asks_training ? progress.waits_at : own.background_at.load(std::memory_order_acquire);
  const uint64_t end = own.collectives.end();
  for (uint64_t place = end < most_collectives ? 0 : end - most_collectives; place < end; ++place) {
    const auto collective = own.collectives.at(place);
    if (!collective) continue;
    status.collectives.push_back(*collective);
    if (place == wanted && (asks_training || status.background_waiting > 0)) status.waits_for = *collective;
  }
  return status;
}

}  // namespace larmor
