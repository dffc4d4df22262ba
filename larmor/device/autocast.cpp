#include "larmor/device/autocast.h"

#include <ATen/autocast_mode.h>

#include "larmor/device/device.h"

namespace larmor {
namespace {

constexpr std::array<c10::DeviceType, 2> autocast_devices{c10::kCPU, c10::kCUDA};

void set_autocast(const AutocastState& state) {
  for (size_t i = 0; i < autocast_devices.size(); ++i) {
    at::autocast::set_autocast_enabled(autocast_devices[i], state.enabled[i]);
    at::autocast::set_autocast_dtype(autocast_devices[i], state.types[i]);
  }
  at::autocast::set_autocast_cache_enabled(state.keeps_casts);
}

}  // namespace

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

AutocastState AutocastState::now() {
  AutocastState state;
  for (size_t i = 0; i < autocast_devices.size(); ++i) {
    state.enabled[i] = at::autocast::is_autocast_enabled(autocast_devices[i]);
    state.types[i] = at::autocast::get_autocast_dtype(autocast_devices[i]);
  }
  state.keeps_casts = at::autocast::is_autocast_cache_enabled();
  return state;
}

AutocastAgain::AutocastAgain(const AutocastState& state) : outer_(AutocastState::now()) {
  set_autocast(state);
  at::autocast::increment_nesting();
}

AutocastAgain::~AutocastAgain() {
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  set_autocast(outer_);
}

}  // namespace larmor
