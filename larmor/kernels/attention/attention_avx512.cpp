#include "larmor/kernels/attention/attention_backward_loops.h"
#include "larmor/kernels/attention/attention_cpu.h"
#include "larmor/kernels/attention/attention_loops.h"

namespace larmor::attentions {

Loops loops_by_avx512() {
  return {.forward = ForwardLoops<16>::run,
          .backward = BackwardLoops<16>::run,
          .add_parts = BackwardLoops<16>::add_parts};
}

}  // namespace larmor::attentions
