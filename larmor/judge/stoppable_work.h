// Work that takes long and may be left undone: it ends soon after a person, a scheduler or the clock asks.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "larmor/device/heartbeat.h"

namespace larmor {

/// "stopped by SIGTERM"; "" as long as nobody asks.
using StopAsked = std::function<std::string()>;

/// What a stop signal of this process (launch/stop_signal.h) asks.
std::string asked_by_signal();

/// Throws Error (stopped) where `asked` has a reason.
void throw_if_asked(const StopAsked& asked);
/// Whether that is what was thrown, here or on another rank.
bool is_stop(const std::exception_ptr& failure);

/// While it lives, work on the thread that made it looks for a reason to stop with each heartbeat, which
/// blocks of networks, windows, steps of sampling and pieces of files send, and throws Error (stopped) there.
class StoppableWork final : public Heartbeat {
 public:
  /// Throws where there is a reason already.
  explicit StoppableWork(StopAsked asked) : asked_(std::move(asked)) { throw_if_asked(asked_); }
  void show() override;

 private:
  StopAsked asked_;
  std::thread::id thread_ = std::this_thread::get_id();
  Heartbeat* outer_ = heartbeat();
  HeartbeatScope here_{this};
};

}  // namespace larmor
