#include "larmor/kernels/convolution/winograd_cpu.h"
#include "larmor/kernels/convolution/winograd_loops.h"

namespace larmor::winograd {

Loops loops_by_avx512() { return WinogradLoops<16>::all(); }

}  // namespace larmor::winograd
