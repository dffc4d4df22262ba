#include "larmor/judge/stoppable_work.h"

#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"
#include "larmor/launch/stop_signal.h"

namespace larmor {

std::string asked_by_signal() {
  if (!stop_requested()) return {};
  const int signal = stop_signal();
  return signal == 0 ? "stopped" : text("stopped by ", signal_name(signal));
}

void throw_if_asked(const StopAsked& asked) {
  if (auto words = asked(); !words.empty())
    fail(Exit::stopped, std::move(words), "the same command does it again");
}

bool is_stop(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.exit() == Exit::stopped;
  } catch (...) {
    return false;
  }
}

void StoppableWork::show() {
  if (outer_ != nullptr) outer_->show();
  // Threads that help, a reader's for instance, have nobody who would catch it.
  if (std::this_thread::get_id() == thread_) throw_if_asked(asked_);
}

}  // namespace larmor
