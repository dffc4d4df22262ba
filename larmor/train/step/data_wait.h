// Whether training waits for its data, on what, and what would help.
#pragma once

#include <string>

#include "larmor/base/load_clock.h"

namespace larmor {

/// How a rank's loader is set up.
struct LoaderSetting {
  int workers = 1;
  int free_cores = 0;        // of the rank, beside those that compute
  bool is_prepared = false;  // data.cache is not none
};

class DataWait {
 public:
  explicit DataWait(const LoaderSetting& setting) : setting_(setting) {}

  /// `stages`: what the workers spent meanwhile.
  void add_step(double seconds, double waited, const LoadSeconds& stages);
  /// The verdict of the steps since the last verdict: "waiting for data 34 %: decompress; …", or "" when they
  /// waited less than a tenth of their time.
  std::string verdict();

 private:
  LoaderSetting setting_;
  double seconds_ = 0, waited_ = 0;
  LoadSeconds stages_{};
};

}  // namespace larmor
