#include "larmor/launch/status_board.h"

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

// A collective in one word: number, group, kind, element, finished; never 0.
constexpr uint64_t finished_bit = 1;
constexpr int64_t most_number = (int64_t{1} << 40) - 1;

uint64_t packed(const Collective& collective) {
  return static_cast<uint64_t>(std::min(collective.number, most_number)) << 24 |
         static_cast<uint64_t>(std::min(collective.group, 0xffff)) << 8 |
         static_cast<uint64_t>(collective.kind) << 5 | static_cast<uint64_t>(collective.element) << 1;
}

Collective unpacked(uint64_t word, int64_t elements) {
  return {.group = static_cast<int>(word >> 8 & 0xffff),
          .number = static_cast<int64_t>(word >> 24),
          .kind = static_cast<CollectiveKind>(word >> 5 & 7),
          .elements = elements,
          .element = static_cast<ElementKind>(word >> 1 & 15),
          .finished = (word & finished_bit) != 0};
}

// How often its place in the ring has been taken, and how many elements, in one word.
constexpr int lap_shift = 52;
constexpr uint64_t most_elements = (uint64_t{1} << lap_shift) - 1;

uint64_t lap_of(uint64_t place) { return place / most_collectives << lap_shift; }

}  // namespace

/// Memory of zeros is "starting, step 0, nothing begun". Ranks do not share a cache line. What the training
/// thread alone writes stands between two counts of `version`, odd while it writes, so that a reader sees the
/// values of one moment. Stores release and loads acquire instead of fences, which the thread sanitizer does
/// not know.
struct StatusBoard::Cell {
  struct Entry {
    std::atomic<uint64_t> word;  // 0 while it is written
    std::atomic<uint64_t> lap_and_elements;

    /// Nothing where the rank has not yet written it, or writes the one that takes its place.
    std::optional<Collective> read(uint64_t place) const;
  };
  /// Of one thread.
  struct Wait {
    std::atomic<int64_t> since;   // 0 = it is not blocked
    std::atomic<uint64_t> place;  // of what it waits for in the ring
  };
  static_assert(sizeof(Entry) == 16 && sizeof(Wait) == 16);

  alignas(64) std::atomic<uint64_t> version;
  std::atomic<uint64_t> word;  // step * 16 + phase
  std::atomic<int64_t> began;  // the present stretch of own work; 0 before the first
  std::array<std::atomic<int64_t>, phase_count> spent;
  std::atomic<int64_t> waited, longest_wait;
  Wait training;

  alignas(64) Wait background;
  std::atomic<int64_t> last_sign;  // 0 = none yet
  std::array<std::atomic<int64_t>, phase_count> longest_quiet;

  alignas(64) std::atomic<uint64_t> begun;  // collectives so far, of all groups
  std::array<Entry, most_collectives> ring;

  class Change {
   public:
    explicit Change(Cell& cell) : cell_(cell), version_(cell.version.load(std::memory_order_relaxed)) {
      cell_.version.store(version_ + 1, std::memory_order_release);
    }
    ~Change() { cell_.version.store(version_ + 2, std::memory_order_release); }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    Cell& cell_;
    uint64_t version_;
  };

  Phase phase() const { return static_cast<Phase>(word.load(std::memory_order_acquire) % 16); }

  void add_spent(int64_t now) {
    const int64_t start = began.load(std::memory_order_relaxed);
    if (start == 0) return;
    auto& sum = spent[static_cast<size_t>(phase()) % phase_count];
    sum.store(sum.load(std::memory_order_relaxed) + now - start, std::memory_order_release);
  }

  void sign(int64_t now, int64_t created) {
    int64_t before = last_sign.exchange(now, std::memory_order_relaxed);
    if (before == 0) before = created;
    // Silence of a rank that waits for others says nothing about how long it needs itself.
    if (training.since.load(std::memory_order_relaxed) != 0) return;
    raise_to(longest_quiet[static_cast<size_t>(phase()) % phase_count], now - before);
  }

  void read_own(RankStatus& status, int64_t now) const;
  void read_collectives(RankStatus& status) const;
};

struct StatusBoard::Memory {
  std::atomic<int64_t> created;
};

namespace {

static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free,
              "a lock would live in one process only");

constexpr size_t board_line = 64;  // cells begin after one of the header's

}  // namespace

size_t StatusBoard::bytes() const {
  static_assert(sizeof(Memory) <= board_line && alignof(Cell) == board_line);
  static_assert(sizeof(Cell) == 21 * board_line, "two lines, two lines, a count and the ring");
  return board_line + static_cast<size_t>(ranks_) * sizeof(Cell);
}

StatusBoard::Cell& StatusBoard::cell(int rank) const {
  assert(rank >= 0 && rank < ranks_);
  return reinterpret_cast<Cell*>(reinterpret_cast<std::byte*>(memory_) + board_line)[rank];
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
  if (memory_) munmap(memory_, bytes());
  if (descriptor_ >= 0) close(descriptor_);
}

StatusBoard::StatusBoard(StatusBoard&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      ranks_(other.ranks_),
      memory_(std::exchange(other.memory_, nullptr)) {}

void StatusBoard::set(int rank, Phase phase, int64_t step) {
  assert(step >= 0);
  Cell& own = cell(rank);
  const int64_t now = board_nanoseconds();
  own.sign(now, memory_->created.load(std::memory_order_relaxed));
  const Cell::Change change(own);
  own.add_spent(now);
  own.began.store(now, std::memory_order_release);
  own.word.store(static_cast<uint64_t>(step) * 16 + static_cast<uint64_t>(phase), std::memory_order_release);
}

void StatusBoard::beat(int rank) {
  cell(rank).sign(board_nanoseconds(), memory_->created.load(std::memory_order_relaxed));
}

void StatusBoard::beat(int rank, Phase during) {
  if (cell(rank).phase() == during) beat(rank);
}

StatusBoard::Ticket StatusBoard::begin(int rank, const Collective& collective) {
  Cell& own = cell(rank);
  const uint64_t place = own.begun.fetch_add(1, std::memory_order_relaxed);
  Cell::Entry& entry = own.ring[place % most_collectives];
  const uint64_t word = packed(collective);
  entry.word.store(0, std::memory_order_relaxed);
  const uint64_t elements = std::min(static_cast<uint64_t>(collective.elements), most_elements);
  entry.lap_and_elements.store(lap_of(place) | elements, std::memory_order_release);
  entry.word.store(word, std::memory_order_release);
  return {.place = place, .word = word};
}

void StatusBoard::finish(int rank, const Ticket& ticket) {
  // Its place may have been given to a later one.
  uint64_t expected = ticket.word;
  cell(rank).ring[ticket.place % most_collectives].word.compare_exchange_strong(
      expected, ticket.word | finished_bit, std::memory_order_release, std::memory_order_relaxed);
}

void StatusBoard::hold(int rank, Waiter waiter, const Ticket& ticket) {
  Cell& own = cell(rank);
  const int64_t now = board_nanoseconds();
  if (waiter == Waiter::background) {
    own.background.place.store(ticket.place, std::memory_order_release);
    own.background.since.store(now, std::memory_order_release);
    beat(rank, Phase::saving);
    return;
  }
  own.sign(now, memory_->created.load(std::memory_order_relaxed));
  const Cell::Change change(own);
  own.add_spent(now);
  own.began.store(0, std::memory_order_release);
  own.training.place.store(ticket.place, std::memory_order_release);
  own.training.since.store(now, std::memory_order_release);
}

void StatusBoard::release(int rank, Waiter waiter) {
  Cell& own = cell(rank);
  const int64_t now = board_nanoseconds();
  if (waiter == Waiter::background) {
    own.background.since.store(0, std::memory_order_release);
    beat(rank, Phase::saving);
    return;
  }
  own.last_sign.store(now, std::memory_order_relaxed);
  const Cell::Change change(own);
  const int64_t waited = now - own.training.since.load(std::memory_order_relaxed);
  own.waited.store(own.waited.load(std::memory_order_relaxed) + waited, std::memory_order_release);
  if (waited > own.longest_wait.load(std::memory_order_relaxed))
    own.longest_wait.store(waited, std::memory_order_release);
  own.training.since.store(0, std::memory_order_release);
  own.began.store(now, std::memory_order_release);
}

Phase StatusBoard::phase(int rank) const { return cell(rank).phase(); }

int64_t StatusBoard::step(int rank) const {
  return static_cast<int64_t>(cell(rank).word.load(std::memory_order_acquire) / 16);
}

std::optional<Collective> StatusBoard::Cell::Entry::read(uint64_t place) const {
  const uint64_t before = word.load(std::memory_order_acquire);
  const uint64_t second = lap_and_elements.load(std::memory_order_acquire);
  const uint64_t after = word.load(std::memory_order_relaxed);
  if (before == 0 || (before | finished_bit) != (after | finished_bit)) return std::nullopt;
  if ((second & ~most_elements) != lap_of(place)) return std::nullopt;
  return unpacked(after, static_cast<int64_t>(second & most_elements));
}

void StatusBoard::Cell::read_own(RankStatus& status, int64_t now) const {
  const uint64_t both = word.load(std::memory_order_acquire);
  status.phase = static_cast<Phase>(both % 16);
  status.step = static_cast<int64_t>(both / 16);
  for (size_t i = 0; i < phase_count; ++i)
    status.seconds[i] = board_seconds(spent[i].load(std::memory_order_acquire));
  status.waited = board_seconds(waited.load(std::memory_order_acquire));
  status.longest_wait = board_seconds(longest_wait.load(std::memory_order_acquire));
  const int64_t working_since = began.load(std::memory_order_acquire);
  if (working_since != 0) of(status.seconds, status.phase) += board_seconds(now - working_since);
  const int64_t waiting_since = training.since.load(std::memory_order_acquire);
  status.waiting = waiting_since == 0 ? 0 : std::max(board_seconds(now - waiting_since), 1e-9);
  status.waited += status.waiting;
}

void StatusBoard::Cell::read_collectives(RankStatus& status) const {
  const uint64_t end = begun.load(std::memory_order_acquire);
  const uint64_t first = end < most_collectives ? 0 : end - most_collectives;
  const bool asks_training = status.waiting > 0;
  const uint64_t wanted = (asks_training ? training : background).place.load(std::memory_order_acquire);
  for (uint64_t place = first; place < end; ++place) {
    const auto collective = ring[place % most_collectives].read(place);
    if (!collective) continue;
    status.collectives.push_back(*collective);
    if (place == wanted && (asks_training || status.background_waiting > 0)) status.waits_for = *collective;
  }
}

RankStatus StatusBoard::status(int rank) const {
  // A rank that was stopped while it wrote leaves an odd version for ever: then its values are taken as they
  // are.
  constexpr int most_tries = 1000;
  const Cell& own = cell(rank);
  RankStatus status;
  int64_t now = 0;
  for (int tries = 0; tries < most_tries; ++tries) {
    const uint64_t before = own.version.load(std::memory_order_acquire);
    now = board_nanoseconds();
    own.read_own(status, now);
    if (before % 2 == 0 && own.version.load(std::memory_order_relaxed) == before) break;
  }
  for (size_t i = 0; i < phase_count; ++i)
    status.longest_quiet[i] = board_seconds(own.longest_quiet[i].load(std::memory_order_relaxed));
  const int64_t sign = own.last_sign.load(std::memory_order_relaxed);
  status.quiet = board_seconds(now - (sign != 0 ? sign : memory_->created.load(std::memory_order_relaxed)));
  const int64_t background_since = own.background.since.load(std::memory_order_acquire);
  status.background_waiting =
      background_since == 0 ? 0 : std::max(board_seconds(now - background_since), 1e-9);
  own.read_collectives(status);
  return status;
}

}  // namespace larmor
