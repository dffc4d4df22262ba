#include "larmor/device/autocast.h"

#include <ATen/autocast_mode.h>

#include "larmor/device/device.h"

namespace larmor {

AutocastScope::AutocastScope(c10::DeviceType device, Precision precision)
    : device_(device), active_(precision == Precision::bf16 || precision == Precision::fp16) {
  was_type_ = active_ ? at::autocast::get_autocast_dtype(device_) : c10::kFloat;
  if (!active_) return;
  was_enabled_ = at::autocast::is_autocast_enabled(device_);
  was_cached_ = at::autocast::is_autocast_cache_enabled();
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_, scalar_type(precision));
  at::autocast::set_autocast_cache_enabled(true);
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_enabled_);
  at::autocast::set_autocast_dtype(device_, was_type_);
  at::autocast::set_autocast_cache_enabled(was_cached_);
}

}  // namespace larmor
