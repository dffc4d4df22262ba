#include "larmor/base/error.h"
#include "larmor/kernels/norms/group_norm_silu_cuda.h"

namespace larmor {
namespace {

[[noreturn]] void refuse_gpu_norm() {
  fail(Exit::environment, "group normalisation on a GPU needs a larmor that is built with CUDA",
       "build it by script/build --cuda, or train on the CPU");
}

}  // namespace

void group_norm_on_gpu(const GroupNormOnGpu&, double, const at::Tensor&) { refuse_gpu_norm(); }

void group_norm_backward_on_gpu(const GroupNormOnGpu&, const at::Tensor&, const at::Tensor&,
                                const at::Tensor&, const at::Tensor&) {
  refuse_gpu_norm();
}

}  // namespace larmor
