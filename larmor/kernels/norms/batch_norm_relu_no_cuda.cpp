#include "larmor/kernels/norms/batch_norm_operators.h"
#include "larmor/kernels/without_cuda.h"

namespace larmor::batch_norms {

using at::Tensor;

constexpr const char* what = "batch normalisation on a GPU needs";

Two moments_on_gpu(const Tensor&) { refuse_without_cuda(what); }

void remember_on_gpu(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, double) {
  refuse_without_cuda(what);
}

Tensor normalise_on_gpu(const Tensor&, const Optional&, const Tensor&, const Tensor&, const Tensor&,
                        const Tensor&, double, bool) {
  refuse_without_cuda(what);
}

Two sum_gradients_on_gpu(const Tensor&, const Tensor&, const Optional&, const Tensor&, const Tensor&,
                         const Tensor&, const Tensor&, double, bool) {
  refuse_without_cuda(what);
}

Tensor differentiate_on_gpu(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                            const Tensor&, const Optional&, double, bool) {
  refuse_without_cuda(what);
}

}  // namespace larmor::batch_norms
