// Proof on the disk that a start of a run goes on, for hosts that do not see its lock.
#pragma once

#include <chrono>
#include <filesystem>
#include <thread>

#include "larmor/run/run_folder.h"

namespace larmor {

/// Renews the time of RUN/.heartbeat from a thread of its own, and removes the file at its end. A disk that
/// does not take it is no reason not to train.
class StartHeartbeat {
 public:
  explicit StartHeartbeat(const RunFolder& folder,
                          std::chrono::milliseconds interval = std::chrono::seconds(10));
  ~StartHeartbeat();
  StartHeartbeat(const StartHeartbeat&) = delete;
  StartHeartbeat& operator=(const StartHeartbeat&) = delete;

 private:
  std::filesystem::path file_;
  std::jthread thread_;
};

/// Whether the file was renewed within a minute. The clocks of the disk and of this host are to agree about
/// that.
bool has_heartbeat(const RunFolder& folder);

}  // namespace larmor
