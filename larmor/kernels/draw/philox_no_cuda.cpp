#include "larmor/base/error.h"
#include "larmor/kernels/draw/philox_cuda.h"

namespace larmor {
namespace {

[[noreturn]] void refuse_gpu() {
  fail(Exit::environment, "random tensors on a GPU need a larmor that is built with CUDA",
       "build it by script/build --cuda, or train on the CPU");
}

}  // namespace

void fill_on_gpu(PhiloxNumbers, const at::Tensor&, const at::Tensor&, uint64_t, uint64_t) { refuse_gpu(); }

void fill_integers_on_gpu(const at::Tensor&, const at::Tensor&, uint64_t, int64_t) { refuse_gpu(); }

void drop_out_on_gpu(const at::Tensor&, const at::Tensor&, const at::Tensor&, uint64_t, uint64_t, double,
                     int64_t) {
  refuse_gpu();
}

}  // namespace larmor
