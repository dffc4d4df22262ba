#include "larmor/base/clock.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <thread>

namespace larmor {

double SystemClock::wall_seconds() const {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double SystemClock::steady_seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void SystemClock::sleep(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(std::max(seconds, 0.0)));
}

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

std::string utc_text(double wall_seconds, bool compact) {
  const std::time_t seconds = static_cast<std::time_t>(std::floor(wall_seconds));
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 64> buffer;
  const char* form = compact ? "%Y%m%d-%H%M%S" : "%Y-%m-%dT%H:%M:%SZ";
  const size_t length = std::strftime(buffer.data(), buffer.size(), form, &parts);
  return {buffer.data(), length};
}

}  // namespace larmor
