// SmartCache: the examples of the window are prepared in the background before the position comes to them,
// and given up when the window has moved on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "larmor/data/cache/prepared_cache.h"
#include "larmor/data/cache/smart_window.h"
#include "larmor/data/dataset.h"

namespace larmor {

/// Thread-safe. Knows the position by the keys that it is asked for, and nothing of ranks: those of a machine
/// share the cache's folder, and who comes to an example first prepares it for all.
class SmartCache {
 public:
  struct Parts {
    SmartWindow window;
    PreparedCache& cache;
    bool gives_up = false;                       // entries that have left the window are removed
    std::function<std::string(int64_t)> key_of;  // example -> key of its entry; may throw Error
    /// Example and key -> how it is made.
    std::function<PreparedCache::Make(int64_t, const std::string&)> make;
  };
  /// Borrows the cache. Starts a thread.
  SmartCache(Parts parts, uint64_t seed);
  /// Waits for the example that the thread is at.
  ~SmartCache();
  SmartCache(const SmartCache&) = delete;
  SmartCache& operator=(const SmartCache&) = delete;

  /// The example; where the background is late, the caller prepares it or waits for who does.
  PreparedExample get(const ExampleKey& key);

 private:
  void work();
  /// Prepares what an epoch needs, in the order of need. False when something newer is to be done.
  bool fill(int64_t epoch, int64_t newest);
  /// False when somebody else holds the claim.
  bool fill_one(int64_t example);
  void give_up_before(int64_t epoch);
  bool is_outdated(int64_t newest);

  const Parts parts_;
  const uint64_t seed_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  int64_t newest_ = -1;  // the latest epoch that was asked for
  int64_t asked_ = 0;    // examples of it
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace larmor
