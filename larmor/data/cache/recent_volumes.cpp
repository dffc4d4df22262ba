#include "larmor/data/cache/recent_volumes.h"

namespace larmor {

std::shared_ptr<const Volumes> RecentVolumes::get(int64_t number, const std::function<Volumes()>& make) {
  std::shared_ptr<Place> place;
  {
    const std::lock_guard lock(mutex_);
    order_.remove(number);
    order_.push_front(number);
    auto& known = places_[number];
    if (!known) known = std::make_shared<Place>();
    place = known;
    if (order_.size() > most_) {
      places_.erase(order_.back());
      order_.pop_back();
    }
  }
  const std::lock_guard lock(place->mutex);
  if (!place->volumes) place->volumes = std::make_shared<const Volumes>(make());
  return place->volumes;
}

}  // namespace larmor
