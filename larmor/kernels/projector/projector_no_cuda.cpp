#include "larmor/base/error.h"
#include "larmor/kernels/projector/projector_cuda.h"

namespace larmor {
namespace {

[[noreturn]] void refuse_gpu_projection() {
  fail(Exit::environment, "radiographs on a GPU need a larmor that is built with CUDA",
       "build it by script/build --cuda, or train on the CPU");
}

}  // namespace

void project_on_gpu(const at::Tensor&, const at::Tensor&, const at::Tensor&) { refuse_gpu_projection(); }

void back_project_on_gpu(const at::Tensor&, const at::Tensor&, const at::Tensor&) { refuse_gpu_projection(); }

}  // namespace larmor
