// Whether a rank has failed by itself, or only for want of another one.
#pragma once

#include <exception>

namespace larmor {

/// Whether `failure` is that of a collective which another rank has left.
bool is_rank_lost(const std::exception_ptr& failure);

}  // namespace larmor
