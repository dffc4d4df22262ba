#include "larmor/kernels/winograd_cpu.h"
#include "larmor/kernels/winograd_loops.h"

namespace larmor::winograd {

Loops loops_by_avx512() { return WinogradLoops<16>::all(); }

}  // namespace larmor::winograd
