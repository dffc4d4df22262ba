#include "larmor/kernels/convolution/winograd_cpu.h"
#include "larmor/kernels/convolution/winograd_loops.h"

namespace larmor::winograd {

Loops loops_by_avx2() { return WinogradLoops<8>::all(); }

}  // namespace larmor::winograd
