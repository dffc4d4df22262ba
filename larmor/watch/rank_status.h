// What one rank is doing, read from its status board: plain values that travel between hosts as JSON.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/base/json.h"

namespace larmor {

enum class Phase : int32_t {
  starting,
  waiting_for_data,
  computing,
  communicating,
  validating,
  saving,
  finished
};
constexpr size_t phase_count = 7;
std::string_view to_text(Phase phase);
/// "while computing step 120", "while waiting for the data of step 120".
std::string while_in(Phase phase, int64_t step);

enum class CollectiveKind : uint8_t { all_reduce, reduce_scatter, all_gather, broadcast, barrier, duplicate };
std::string_view to_text(CollectiveKind kind);

/// What a collective moves; `none` for one without a tensor.
enum class ElementKind : uint8_t {
  none,
  boolean,
  uint8,
  int8,
  int16,
  int32,
  int64,
  float16,
  bfloat16,
  float32,
  float64,
  other
};
std::string_view to_text(ElementKind kind);

/// A collective that a rank has begun. Collectives of one group have to be the same on all ranks, number by
/// number.
struct Collective {
  int group = 0;       // 0 = training's own, then in the order of duplicate()
  int64_t number = 0;  // within its group, from 1
  CollectiveKind kind = CollectiveKind::barrier;
  int64_t elements = 0;
  ElementKind element = ElementKind::none;
  bool finished = false;  // its wait has returned
  bool operator==(const Collective&) const = default;
};
/// "all_reduce #118 (1,048,576 float32)", with " of group 1" where it is not training's own.
std::string to_text(const Collective& collective);

/// Values by phase.
using PerPhase = std::array<double, phase_count>;
inline double& of(PerPhase& values, Phase phase) { return values[static_cast<size_t>(phase)]; }
inline double of(const PerPhase& values, Phase phase) { return values[static_cast<size_t>(phase)]; }

/// All times are ages and durations in seconds: clocks of hosts differ.
struct RankStatus {
  Phase phase = Phase::starting;
  int64_t step = 0;
  double quiet = 0;    // since the last heartbeat; the begin and the end of a wait are signs too
  double waiting = 0;  // how long its training thread has been blocked in a collective; 0 = it is not
  double background_waiting = 0;        // the same for a thread beside it, such as the one that saves
  std::optional<Collective> waits_for;  // of the training thread, else of the thread beside it
  PerPhase longest_quiet{};             // between heartbeats so far, waits in collectives left out
  PerPhase seconds{};                   // spent so far, waits of the training thread left out
  double waited = 0;                    // by the training thread so far
  double longest_wait = 0;              // of those
  std::vector<Collective> collectives;  // the last that it began, oldest first

  /// Blocked by others: in a collective, or in the end of a save that is.
  bool is_waiting() const { return waiting > 0 || (phase == Phase::saving && background_waiting > 0); }
  /// How long; 0 when it is not.
  double waiting_seconds() const {
    return waiting > 0 ? waiting : phase == Phase::saving ? background_waiting : 0;
  }
};

/// How many collectives a status holds at most.
constexpr size_t most_collectives = 64;

/// The status; without `collectives`, a few hundred bytes.
Json to_json(const RankStatus& status, bool with_collectives);
/// Throws Error (rank_lost) on what to_json() does not write: it comes from another host.
RankStatus rank_status_from_json(const Json& json);

}  // namespace larmor
