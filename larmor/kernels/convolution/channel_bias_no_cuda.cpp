#include "larmor/kernels/convolution/channel_bias_operators.h"
#include "larmor/kernels/without_cuda.h"

namespace larmor::channel_bias {

constexpr const char* what = "a convolution's bias on a GPU needs";

void add_on_gpu(const at::Tensor&, const at::Tensor&) { refuse_without_cuda(what); }

at::Tensor sums_on_gpu(const at::Tensor&, bool, at::ScalarType) { refuse_without_cuda(what); }

}  // namespace larmor::channel_bias
