// How far results in float32 may be apart that were added up in different orders: on other ranks, in other
// batches, on another CPU. How much a network makes of rounding no constant knows; float64 beside does.
#pragma once

namespace larmor::testing {

/// A result in float32 is so far from the same in float64; another one that rounds as often, elsewhere, may
/// be so many times as far: three bits.
inline constexpr double rounding_room = 8;

}  // namespace larmor::testing
