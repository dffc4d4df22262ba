#include "larmor/kernels/projector/projector_cuda.h"
#include "larmor/kernels/without_cuda.h"

namespace larmor {

constexpr const char* what = "radiographs on a GPU need";

void project_on_gpu(const at::Tensor&, const at::Tensor&, const at::Tensor&) { refuse_without_cuda(what); }

void back_project_on_gpu(const at::Tensor&, const at::Tensor&, const at::Tensor&) {
  refuse_without_cuda(what);
}

}  // namespace larmor
