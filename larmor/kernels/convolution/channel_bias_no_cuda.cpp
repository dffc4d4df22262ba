#include "larmor/base/error.h"
#include "larmor/kernels/convolution/channel_bias_operators.h"

namespace larmor::channel_bias {
namespace {

[[noreturn]] void refuse_gpu() {
  fail(Exit::environment, "a convolution's bias on a GPU needs a larmor that is built with CUDA",
       "build it by script/build --cuda, or train on the CPU");
}

}  // namespace

void add_on_gpu(const at::Tensor&, const at::Tensor&) { refuse_gpu(); }

at::Tensor sums_on_gpu(const at::Tensor&, bool, at::ScalarType) { refuse_gpu(); }

}  // namespace larmor::channel_bias
