// A library to preload: for a process that is no rank the monotonic clock runs a thousand times as fast, so
// that limits of minutes are over at once. What a rank writes down of its time is then long ago for its
// agent.
#include <sys/syscall.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <unistd.h>

namespace {

constexpr int64_t speed = 1000;
constexpr int64_t second = 1'000'000'000;

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long status = syscall(SYS_clock_gettime, clock, time);
  static const bool is_rank = std::getenv("LARMOR_RANK") != nullptr;
  if (status != 0 || clock != CLOCK_MONOTONIC || is_rank) return static_cast<int>(status);
  // By whole parts: nanoseconds of a year times a thousand have no place in 64 bits.
  const int64_t rest = int64_t{time->tv_nsec} * speed;
  time->tv_sec = time->tv_sec * speed + rest / second;
  time->tv_nsec = rest % second;
  return 0;
}
