// Built with flags of its own (CMakeLists.txt). What the marked loops call is always inlined: out of line it
// would be compiled for one CPU only.
#include "larmor/kernels/convolution/upsample_taps_cpu.h"

#include <algorithm>
#include <vector>

#include "larmor/kernels/norms/norm_lanes.h"

namespace larmor::upsample_taps {
namespace {

using group_norms::load;
using group_norms::store;

/// The outputs whose taps are added together: a lane each.
constexpr int64_t lanes = 16;

/// Copies of `count` outputs' taps, [taps, lanes]; lanes without an output are zero.
template <int64_t taps, class Number, class Element>
LARMOR_EVERY_CPU void gather(const Element* from, int64_t of_out, int64_t of_tap, int64_t count,
                             Number* __restrict to) {
  if (count < lanes) std::fill(to, to + taps * lanes, Number{0});
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t lane = 0; lane < count; ++lane)
      to[tap * lanes + lane] = load(from[lane * of_out + tap * of_tap]);
  }
}

template <int64_t taps, class Number, class Element>
LARMOR_EVERY_CPU void scatter(const Number* __restrict from, int64_t of_out, int64_t of_tap, int64_t count,
                              Element* to) {
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t lane = 0; lane < count; ++lane)
      store(to[lane * of_out + tap * of_tap], from[tap * lanes + lane]);
  }
}

/// Along one axis, (w2, w1 + w2, w0 + w1, w0) of each three taps [before, 3, behind, lanes].
template <class Number>
LARMOR_EVERY_CPU void widen_axis(const Number* __restrict from, int64_t before, int64_t behind,
                                 Number* __restrict to) {
  const int64_t row = behind * lanes;
  for (int64_t i = 0; i < before; ++i, from += 3 * row, to += 4 * row) {
    for (int64_t lane = 0; lane < row; ++lane) {
      const Number w0 = from[lane], w1 = from[row + lane], w2 = from[2 * row + lane];
      to[lane] = w2;
      to[row + lane] = w2 + w1;
      to[2 * row + lane] = w1 + w0;
      to[3 * row + lane] = w0;
    }
  }
}

/// The adjoint along one axis: from [before, 4, behind, lanes] neighbours are added, and turned.
template <class Number>
LARMOR_EVERY_CPU void narrow_axis(const Number* __restrict from, int64_t before, int64_t behind,
                                  Number* __restrict to) {
  const int64_t row = behind * lanes;
  for (int64_t i = 0; i < before; ++i, from += 4 * row, to += 3 * row) {
    for (int64_t lane = 0; lane < row; ++lane) {
      const Number v0 = from[lane], v1 = from[row + lane], v2 = from[2 * row + lane],
                   v3 = from[3 * row + lane];
      to[lane] = v2 + v3;
      to[row + lane] = v1 + v2;
      to[2 * row + lane] = v0 + v1;
    }
  }
}

/// Calls visit(first output, how many) for all outputs.
template <class Visit>
void for_lanes(int64_t out, const Visit& visit) {
  for (int64_t first = 0; first < out; first += lanes) visit(first, std::min(lanes, out - first));
}

}  // namespace

template <class Number, class Element>
void widen(const Channels& channels, const Kernel<const Number>& narrow, int64_t first, int64_t end,
           const Kernel<Element>& wide) {
  std::vector<Number> here(static_cast<size_t>(wide_taps * lanes)), next(here.size());
  for (int64_t in = first; in < end; ++in) {
    for_lanes(channels.out, [&](int64_t out, int64_t count) {
      gather<narrow_taps>(narrow.numbers + in * narrow.of_in + out * narrow.of_out, narrow.of_out,
                          narrow.of_tap, count, here.data());
      widen_axis(here.data(), 1, 9, next.data());
      widen_axis(next.data(), 4, 3, here.data());
      widen_axis(here.data(), 16, 1, next.data());
      scatter<wide_taps>(next.data(), wide.of_out, wide.of_tap, count,
                         wide.numbers + in * wide.of_in + out * wide.of_out);
    });
  }
}

template <class Number, class Element>
void narrow(const Channels& channels, const Kernel<const Element>& wide, int64_t first, int64_t end,
            const Kernel<Number>& narrow) {
  std::vector<Number> here(static_cast<size_t>(wide_taps * lanes)), next(here.size());
  for (int64_t in = first; in < end; ++in) {
    for_lanes(channels.out, [&](int64_t out, int64_t count) {
      gather<wide_taps>(wide.numbers + in * wide.of_in + out * wide.of_out, wide.of_out, wide.of_tap, count,
                        here.data());
      narrow_axis(here.data(), 1, 16, next.data());
      narrow_axis(next.data(), 3, 4, here.data());
      narrow_axis(here.data(), 9, 1, next.data());
      scatter<narrow_taps>(next.data(), narrow.of_out, narrow.of_tap, count,
                           narrow.numbers + in * narrow.of_in + out * narrow.of_out);
    });
  }
}

template void widen(const Channels&, const Kernel<const float>&, int64_t, int64_t, const Kernel<float>&);
template void widen(const Channels&, const Kernel<const float>&, int64_t, int64_t, const Kernel<Bfloat16>&);
template void widen(const Channels&, const Kernel<const double>&, int64_t, int64_t, const Kernel<double>&);
template void narrow(const Channels&, const Kernel<const float>&, int64_t, int64_t, const Kernel<float>&);
template void narrow(const Channels&, const Kernel<const Bfloat16>&, int64_t, int64_t, const Kernel<float>&);
template void narrow(const Channels&, const Kernel<const double>&, int64_t, int64_t, const Kernel<double>&);

}  // namespace larmor::upsample_taps
