// Heartbeats of work that takes long: blocks of networks, windows of an inference and pieces of a file send
// one each. Where nobody watches this thread, sending one does nothing.
#pragma once

namespace larmor {

class Heartbeat {
 public:
  virtual ~Heartbeat() = default;
  /// Called when something has been achieved; the watcher takes it as proof that the rank does not hang.
  /// Thread-safe, since backward may run on any thread.
  virtual void show() = 0;
};

/// The receiver of this thread's heartbeats; null where nobody watches. A function that will run on another
/// thread captures it in forward.
Heartbeat* heartbeat();
/// Sends one heartbeat, where somebody watches.
void send_heartbeat();

/// Sends this thread's heartbeats to `sign`, or nowhere with null, until the scope ends. Borrows.
class HeartbeatScope {
 public:
  explicit HeartbeatScope(Heartbeat* shown);
  ~HeartbeatScope();
  HeartbeatScope(const HeartbeatScope&) = delete;
  HeartbeatScope& operator=(const HeartbeatScope&) = delete;

 private:
  Heartbeat* outer_;
};

}  // namespace larmor
