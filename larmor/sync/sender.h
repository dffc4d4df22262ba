// Sends what a run has recorded to a service, and goes on where an earlier sender has stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "larmor/base/clock.h"
#include "larmor/base/files/storage.h"
#include "larmor/run/run_folder.h"
#include "larmor/services/service.h"

namespace larmor {

struct SyncOptions {
  /// Whether the run is still trained, and more is to come: the sender then waits for it. Nothing: it sends
  /// what is there, and ends.
  std::function<bool()> is_trained = {};
  /// Where another sender holds the run, this one waits for it as long as the run is trained: that of the
  /// start before may still have to send. Requires is_trained.
  bool waits_for_other_sender = false;
  /// Told where a person finds the run there, once the service has taken it; and each time that it begins not
  /// to answer, why.
  std::function<void(const std::string& place)> on_open = {};
  std::function<void(const std::string& reason)> on_silence = {};
  double patience = 0;  // seconds without an answer that a run that is over is waited for
};

struct SyncSummary {
  std::string place;
  int64_t events = 0, pictures = 0;  // sent by this sender
  int64_t unread_lines = 0;
};

/// Settings of a service from the configuration that the run has kept, and what `words`
/// (track.<service>.<key>=…) say over it. Throws Error (usage) for other words.
ServiceSettings settings_of_run(const RunFolder& folder, const TrackingService& service,
                                const std::vector<std::string>& words);

/// What sync_run() would send now. Nobody is asked, nothing is written.
SyncSummary look_at_unsent(const RunFolder& folder, const TrackingService& service,
                           const ServiceSettings& settings);

/// Blocks until all is sent, in follow mode until the run is over as well. Nothing in the run folder changes
/// but sync/. Throws Error: environment where another sender holds the run, where its folder is gone, where
/// the service refuses, or, after `patience`, gives no answer; usage for settings that cannot be meant.
SyncSummary sync_run(const RunFolder& folder, const TrackingService& service, const ServiceSettings& settings,
                     Storage& storage, Clock& clock, const SyncOptions& options);

}  // namespace larmor
