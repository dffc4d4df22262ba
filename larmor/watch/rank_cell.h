// One rank's part of a status board: memory that it writes without a lock while other processes read it, also
// once the rank has been stopped in the middle of a write. Memory of zeros is a rank that has done nothing
// yet.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>

#include "larmor/watch/rank_status.h"

namespace larmor {

static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free,
              "a lock would live in one process only");

/// What the training thread alone writes. Times are nanoseconds of the monotonic clock.
struct RankProgress {
  Phase phase = Phase::starting;
  int32_t unused = 0;
  int64_t step = 0;
  int64_t began = 0;  // the present stretch of own work; 0 before the first one and while it waits
  std::array<int64_t, phase_count> spent{};  // earlier stretches
  int64_t waited = 0, longest_wait = 0;      // in collectives, the present wait left out
  int64_t waits_since = 0;                   // 0 = it does not wait
  uint64_t waits_at = 0;                     // the place of that collective

  /// A stretch of own work ends.
  void add_spent(int64_t now) {
    if (began != 0) spent[static_cast<size_t>(phase)] += now - began;
  }
};

static_assert(std::has_unique_object_representations_v<RankProgress>, "it is shared as words");

/// A RankProgress of which every reader sees one moment. There are two copies: the writer fills the one that
/// is not published, then publishes it. A writer that stops anywhere leaves a whole copy.
class SharedProgress {
 public:
  RankProgress read() const;
  /// Called by one thread.
  void write(const RankProgress& progress);

 private:
  using Words = std::array<uint64_t, sizeof(RankProgress) / sizeof(uint64_t)>;
  std::atomic<uint64_t> version_;  // the lowest bit: which copy is shown
  std::array<std::array<std::atomic<uint64_t>, std::tuple_size_v<Words>>, 2> copies_;
};

/// A collective as it stands in memory. Of words of two collectives, in whatever order they were written,
/// decode() makes nothing.
struct PackedCollective {
  using Words = std::array<uint64_t, 3>;  // in the order in which they are written
  static constexpr size_t state = 2;      // the word that finish() changes
  static constexpr uint64_t finished_bit = 1;

  static Words encode(uint64_t place, const Collective& collective);
  /// Nothing where `words` are not those of a collective of that place.
  static std::optional<Collective> decode(uint64_t place, const Words& words);
};

/// The last collectives that a rank has begun, by any of its threads.
class CollectiveRing {
 public:
  /// Names a collective until it is forgotten; `word` tells it from its place's later ones.
  struct Ticket {
    uint64_t place = 0;
    uint64_t word = 0;
  };
  Ticket begin(const Collective& collective);
  void finish(const Ticket& ticket);
  /// How many have been begun; the last one has the place before.
  uint64_t end() const { return begun_.load(std::memory_order_acquire); }
  /// Nothing where it is being written, or has been forgotten.
  std::optional<Collective> at(uint64_t place) const;

 private:
  std::atomic<uint64_t> begun_;
  std::array<std::array<std::atomic<uint64_t>, std::tuple_size_v<PackedCollective::Words>>, most_collectives>
      entries_;
};

/// Parts of different threads do not share a cache line, and neither do ranks.
struct RankCell {
  alignas(64) SharedProgress progress;
  /// The time of the thread beside the training one.
  alignas(64) std::atomic<int64_t> background_since;  // 0 = it does not wait
  std::atomic<uint64_t> background_at;
  std::atomic<int64_t> last_heartbeat;  // 0 = none yet
  std::array<std::atomic<int64_t>, phase_count> longest_quiet;
  alignas(64) CollectiveRing collectives;
};

}  // namespace larmor
