#include "larmor/base/error.h"
#include "larmor/kernels/norms/batch_norm_operators.h"

namespace larmor::batch_norms {

using at::Tensor;

namespace {

[[noreturn]] void refuse_gpu_norm() {
  fail(Exit::environment, "batch normalisation on a GPU needs a larmor that is built with CUDA",
       "build it by script/build --cuda, or train on the CPU");
}

}  // namespace

Two moments_on_gpu(const Tensor&) { refuse_gpu_norm(); }

void remember_on_gpu(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, double) {
  refuse_gpu_norm();
}

Tensor normalise_on_gpu(const Tensor&, const Optional&, const Tensor&, const Tensor&, const Tensor&,
                        const Tensor&, double, bool) {
  refuse_gpu_norm();
}

Two sum_gradients_on_gpu(const Tensor&, const Tensor&, const Optional&, const Tensor&, const Tensor&,
                         const Tensor&, const Tensor&, double, bool) {
  refuse_gpu_norm();
}

Tensor differentiate_on_gpu(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                            const Tensor&, const Optional&, double, bool) {
  refuse_gpu_norm();
}

}  // namespace larmor::batch_norms
