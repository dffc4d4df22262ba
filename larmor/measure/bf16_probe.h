// How much faster this CPU computes in bf16. No flag of a CPU tells: with one release of libtorch a CPU that
// has bf16 instructions was half as fast in it as in fp32, with another three times as fast.
#pragma once

namespace larmor {

/// The processor time of a small 3-D encoder with its gradients in fp32, divided by the same in bf16; each
/// the least of a few turns that alternate. Takes a fifth of a second on one core: no other thread takes
/// part, and what other programs take of the core does not count.
double measured_bf16_speedup();

}  // namespace larmor
