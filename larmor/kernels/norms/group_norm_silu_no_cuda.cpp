#include "larmor/kernels/norms/group_norm_silu_cuda.h"
#include "larmor/kernels/without_cuda.h"

namespace larmor {

constexpr const char* what = "group normalisation on a GPU needs";

void group_norm_on_gpu(const GroupNormOnGpu&, double, const at::Tensor&) { refuse_without_cuda(what); }

void group_norm_backward_on_gpu(const GroupNormOnGpu&, const at::Tensor&, const at::Tensor&,
                                const at::Tensor&, const at::Tensor&) {
  refuse_without_cuda(what);
}

}  // namespace larmor
