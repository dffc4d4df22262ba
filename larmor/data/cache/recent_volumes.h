// Volumes that were made lately, for those who want the same ones at about the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "larmor/transforms/transforms.h"

namespace larmor {

/// Thread-safe.
class RecentVolumes {
 public:
  /// Keeps those of the last `most` cases that were asked for.
  explicit RecentVolumes(std::size_t most) : most_(most) {}

  /// A second thread that wants the same case waits instead of making it twice. Throws what `make` throws,
  /// and then keeps nothing. Whoever writes into the volumes writes into what others get.
  std::shared_ptr<const Volumes> get(int64_t number, const std::function<Volumes()>& make);

 private:
  struct Place {
    std::mutex mutex;
    std::shared_ptr<const Volumes> volumes;
  };

  const std::size_t most_;
  std::mutex mutex_;  // guards what follows
  std::map<int64_t, std::shared_ptr<Place>> places_;
  std::list<int64_t> order_;  // the latest first
};

}  // namespace larmor
