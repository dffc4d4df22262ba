#include "larmor/kernels/attention/attention_backward_loops.h"
#include "larmor/kernels/attention/attention_cpu.h"
#include "larmor/kernels/attention/attention_loops.h"

namespace larmor::attentions {

Loops loops_by_avx2() {
  return {.forward = ForwardLoops<8>::run,
          .backward = BackwardLoops<8>::run,
          .add_parts = BackwardLoops<8>::add_parts};
}

}  // namespace larmor::attentions
