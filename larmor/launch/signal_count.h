// Which stop signals are news: one that is sent twice within a second was sent once.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <signal.h>

namespace larmor {

/// The signals of one sender. timeout(1) that is told to end signals its child and then the child's group,
/// shells do so with HUP, srun and slurmstepd both pass a signal on, and systemd ends a session by TERM and
/// then HUP: whoever hears two of these was asked once.
class SignalCount {
 public:
  /// Whether it counts: not where one of its kind counted less than a second ago. HUP is of TERM's kind.
  /// Thread-safe, and may be called by a handler.
  bool counts(int signal) { return counts(signal, monotonic_nanoseconds()); }
  bool counts(int signal, std::int64_t now_nanoseconds);
  static std::int64_t monotonic_nanoseconds();

 private:
  static_assert(std::atomic<std::int64_t>::is_always_lock_free, "a handler must not wait for a lock");
  std::array<std::atomic<std::int64_t>, NSIG> last_{};  // 0: none
};

}  // namespace larmor
