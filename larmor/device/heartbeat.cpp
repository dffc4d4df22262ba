#include "larmor/device/heartbeat.h"

#include <utility>

namespace larmor {
namespace {

thread_local Heartbeat* shown_heartbeat = nullptr;

}  // namespace

Heartbeat* heartbeat() { return shown_heartbeat; }

void send_heartbeat() {
  if (shown_heartbeat != nullptr) shown_heartbeat->show();
}

HeartbeatScope::HeartbeatScope(Heartbeat* shown) : outer_(std::exchange(shown_heartbeat, shown)) {}

HeartbeatScope::~HeartbeatScope() { shown_heartbeat = outer_; }

}  // namespace larmor
