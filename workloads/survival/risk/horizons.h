// The times at which predictions are held against what happened.
#pragma once

#include <span>

namespace larmor::survival {

/// Throws Error (data) unless horizons are finite, not negative, and ascend strictly.
void check_horizons(std::span<const double> horizons);

}  // namespace larmor::survival
