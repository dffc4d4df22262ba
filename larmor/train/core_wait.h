// Whether other programs use the cores of a rank, so that its threads wait where they could compute.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "larmor/plan/plan.h"

namespace larmor {

/// The seconds since the process, or the machine, started.
struct CoreSeconds {
  double ran = 0;     // of all threads of this process
  double waited = 0;  // of its threads there are, while they could have run and had no core
  double busy = 0;    // of the cores, whoever used them
};

/// The seconds of this process and these cores. Nothing where the kernel does not count them.
std::optional<CoreSeconds> count_core_seconds(const std::vector<int>& cores);

/// One thread.
class CoreWait {
 public:
  /// A watch of the process of that rank. A process of several ranks is watched by its first; ranks that the
  /// plan has bound to no core share them with each other, and are not; nor is anything where
  /// LARMOR_FREE_CORES states what is free.
  CoreWait(const Plan& plan, int rank);
  CoreWait(std::vector<int> cores, int threads) : cores_(std::move(cores)), threads_(threads) {}

  /// Called after each step; counts every ten seconds. `now`: steady seconds.
  std::string look(double now);
  /// What to say, once, where for half a minute the threads had to wait for a third of the time in which they
  /// could have run, and others used a quarter of the cores; "" else.
  std::string add(double now, const CoreSeconds& counted);

 private:
  std::vector<int> cores_;
  int threads_;
  bool is_over_ = false;  // it has been said, or cannot be known
  double last_ = -1;      // when it was counted last
  double bad_since_ = -1;
  CoreSeconds before_, at_start_of_bad_;
};

}  // namespace larmor
