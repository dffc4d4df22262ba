// Dynamic loss scaling for float16: halves on overflow, doubles after a run of good steps.
// Source: torch.amp.GradScaler (growth 2, backoff 0.5, interval 2000, start 65536); DeepSpeed's
// min_loss_scale.
#pragma once

#include "larmor/device/state.h"

namespace larmor {

/// Where the scale stops to halve: gradients that still are not finite have another reason than the scale.
constexpr double least_loss_scale = 1;

class LossScale final : public Stateful {
 public:
  /// Inactive: the scale is 1 and never moves.
  explicit LossScale(bool active);
  double scale() const { return scale_; }
  bool is_active() const { return active_; }
  void update(bool overflowed);
  void save(StateWriter& writer) const override;
  void load(const StateReader& reader) override;

 private:
  bool active_;
  double scale_;
  int64_t good_steps_ = 0;
};

}  // namespace larmor
