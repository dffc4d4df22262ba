#include "larmor/nn/blocks/dropout.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/kernels/draw/draw.h"

namespace larmor::nn {

Dropout::Dropout(double drop, std::string path) : keep_(1 - drop), purpose_("dropout " + std::move(path)) {
  if (!(drop >= 0 && drop < 1))
    fail(Exit::usage, text("a dropout of ", drop, " cannot be"), "give a share of at least 0 and below 1");
}

at::Tensor Dropout::forward(const at::Tensor& input) {
  if (!drops()) return input;
  return draw_dropout(input, keep_, purpose_);
}

}  // namespace larmor::nn
