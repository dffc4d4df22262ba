#include "larmor/launch/signal_count.h"

#include <cstddef>
#include <ctime>

namespace larmor {

namespace {
constexpr std::int64_t nanoseconds_of_a_second = 1'000'000'000;
}  // namespace

bool SignalCount::counts(int signal, std::int64_t now_nanoseconds) {
  auto& last = last_.at(static_cast<std::size_t>(signal == SIGHUP ? SIGTERM : signal));
  std::int64_t before = last.load();
  // Handlers run on whatever thread is at hand, two of them at a time.
  do {
    if (before != 0 && now_nanoseconds - before < nanoseconds_of_a_second) return false;
  } while (!last.compare_exchange_weak(before, now_nanoseconds));
  return true;
}

std::int64_t SignalCount::monotonic_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * nanoseconds_of_a_second + now.tv_nsec;
}

}  // namespace larmor
