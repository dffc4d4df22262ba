#include "larmor/optim/loss_scale.h"

#include <algorithm>
#include <cmath>

namespace larmor {
namespace {

constexpr double first_scale = 65536, growth = 2, backoff = 0.5;
constexpr int64_t growth_interval = 2000;

}  // namespace

LossScale::LossScale(bool active) : active_(active), scale_(active ? first_scale : 1) {}

void LossScale::update(bool overflowed) {
  if (!active_) return;
  if (overflowed) {
    scale_ = std::max(scale_ * backoff, least_loss_scale);
    good_steps_ = 0;
    return;
  }
  good_steps_ += 1;
  if (good_steps_ < growth_interval) return;
  good_steps_ = 0;
  // The loss is float32: a scale beyond its range would make every step overflow.
  if (std::isfinite(static_cast<float>(scale_ * growth))) scale_ *= growth;
}

void LossScale::save(StateWriter& writer) const {
  writer.value("loss_scale", scale_);
  writer.value("good_steps", good_steps_);
}

void LossScale::load(const StateReader& reader) {
  if (!active_) return;
  scale_ = std::max(reader.value("loss_scale").get<double>(), least_loss_scale);
  good_steps_ = reader.value("good_steps").get<int64_t>();
}

}  // namespace larmor
