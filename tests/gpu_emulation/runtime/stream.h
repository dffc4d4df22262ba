// Streams and events: which works are still under way, and after which works the next one comes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/gpu_emulation/runtime/order.h"

namespace emulated {

class Capture;

/// The end of a work that runs beside the host's threads. Only collectives do. Thread-safe.
class Completion {
 public:
  void finish();
  void wait();
  bool is_done();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
};
using Pending = std::vector<std::shared_ptr<Completion>>;

void wait_for(const Pending& pending);
bool are_done(const Pending& pending);
void add_to(Pending& pending, const Pending& more);

struct Stream {
  int number = 0;  // of all streams of the process
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  uint64_t count = 0;      // works put on it so far
  uint64_t last_work = 0;  // the last of them that is no record of an event
  Clock clock = {};        // what the next work comes after
  Pending pending = {};
  std::shared_ptr<Capture> capture = {};  // under way
};

struct Event {
  int device = 0;
  unsigned flags = 0;
  bool is_recorded = false;
  int refusals = 0;  // how often a query still says that it is not there yet
  timespec time = {};
  Clock clock = {};
  Pending pending = {};
  std::shared_ptr<Capture> capture = {};  // that it was recorded in last; it may be over
};

}  // namespace emulated
