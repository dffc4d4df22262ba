// The loops that add neighbouring taps of a kernel on CPUs, for upsample_conv(), and their adjoint. No
// libtorch: stretches of memory and sizes. Sums have the order of axis after axis, and so the bits of the
// operators that they stand for.
#pragma once

#include <cstdint>

#include "larmor/kernels/norms/group_norm_silu_cpu.h"

namespace larmor::upsample_taps {

using group_norms::Bfloat16;

inline constexpr int64_t narrow_taps = 27, wide_taps = 64;  // 3 and 4 along each axis

/// A kernel [in, out, taps] as it lies: steps from one number to the next along each.
template <class Element>
struct Kernel {
  Element* numbers;
  int64_t of_in, of_out, of_tap;
};

/// What both kernels of a layer have in common.
struct Channels {
  int64_t in, out;
};

/// The wide kernel of a narrow one: along each axis the taps (w2, w1 + w2, w0 + w1, w0), added in the type of
/// the narrow one. For inputs from `first` until before `end`; any threads may share them in any way.
template <class Number, class Element>
void widen(const Channels& channels, const Kernel<const Number>& narrow, int64_t first, int64_t end,
           const Kernel<Element>& wide);

/// The adjoint: the gradient of the narrow kernel from that of the wide one.
template <class Number, class Element>
void narrow(const Channels& channels, const Kernel<const Element>& wide, int64_t first, int64_t end,
            const Kernel<Number>& narrow);

}  // namespace larmor::upsample_taps
