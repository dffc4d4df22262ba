#include "larmor/run/standing/start_heartbeat.h"

#include <sys/stat.h>

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/log.h"
#include "larmor/base/process/descriptor.h"
#include "larmor/base/process/signal_mask.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

fs::path heartbeat_of(const RunFolder& folder) { return folder.root / ".heartbeat"; }

void renew_heartbeat(const fs::path& path) {
  const Descriptor file(after_signals(
      [&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600); }));
  if (!file.is_open() || ::futimens(file.number(), nullptr) != 0)
    log::debug(text("cannot renew ", path.string()));
}

}  // namespace

StartHeartbeat::StartHeartbeat(const RunFolder& folder, std::chrono::milliseconds interval)
    : file_(heartbeat_of(folder)) {
  // Signals are for the thread that waits for the ranks.
  const SignalsBlocked held = SignalsBlocked::all();
  thread_ = std::jthread([file = file_, interval](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      renew_heartbeat(file);
      stopped.wait_for(lock, stop, interval, [] { return false; });
    }
  });
}

StartHeartbeat::~StartHeartbeat() {
  thread_.request_stop();
  thread_.join();
  ::unlink(file_.c_str());
}

bool has_heartbeat(const RunFolder& folder) {
  constexpr std::chrono::minutes limit(1);
  std::error_code absent;
  const auto renewed = fs::last_write_time(heartbeat_of(folder), absent);
  return !absent && std::chrono::abs(fs::file_time_type::clock::now() - renewed) < limit;
}

}  // namespace larmor
