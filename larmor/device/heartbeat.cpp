#include "larmor/device/heartbeat.h"

#include <utility>

namespace larmor {
namespace {

thread_local Heartbeat* shown_sign = nullptr;

}  // namespace

Heartbeat* heartbeat() { return shown_sign; }

void send_heartbeat() {
  if (shown_sign != nullptr) shown_sign->show();
}

HeartbeatScope::HeartbeatScope(Heartbeat* sign) : outer_(std::exchange(shown_sign, sign)) {}

HeartbeatScope::~HeartbeatScope() { shown_sign = outer_; }

}  // namespace larmor
