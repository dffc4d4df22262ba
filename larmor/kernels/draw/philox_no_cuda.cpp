#include "larmor/kernels/draw/philox_cuda.h"
#include "larmor/kernels/without_cuda.h"

namespace larmor {

constexpr const char* what = "random tensors on a GPU need";

void fill_on_gpu(PhiloxNumbers, const at::Tensor&, const at::Tensor&, uint64_t, uint64_t) {
  refuse_without_cuda(what);
}

void fill_integers_on_gpu(const at::Tensor&, const at::Tensor&, uint64_t, int64_t) {
  refuse_without_cuda(what);
}

void drop_out_on_gpu(const at::Tensor&, const at::Tensor&, const at::Tensor&, uint64_t, uint64_t, double,
                     int64_t) {
  refuse_without_cuda(what);
}

}  // namespace larmor
