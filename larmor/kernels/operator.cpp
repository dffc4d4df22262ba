#include "larmor/kernels/operator.h"

#include <stdexcept>
#include <vector>

#include <torch/csrc/autograd/autograd.h>

#include "larmor/base/text.h"

namespace larmor {

void refuse_gradient_of(const char* name) {
  throw std::logic_error(
      text("larmor::", name, " has no gradient: differentiate the operator whose gradient it is"));
}

torch::autograd::variable_list differentiable_gradients(const torch::autograd::AutogradContext& context,
                                                        const at::Tensor& result,
                                                        std::span<const at::Tensor> inputs,
                                                        const at::Tensor& gradient, size_t count) {
  torch::autograd::variable_list asked, found(count);
  std::vector<size_t> places;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || !context.needs_input_grad(i)) continue;
    asked.push_back(inputs[i]);
    places.push_back(i);
  }
  const auto all =
      torch::autograd::grad({result}, asked, {gradient}, /*retain_graph=*/true, /*create_graph=*/true);
  for (size_t i = 0; i < all.size(); ++i) found[places[i]] = all[i];
  return found;
}

}  // namespace larmor
