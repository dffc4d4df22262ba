#include "tests/kernels/support/outputs_and_gradients.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include <ATen/ATen.h>

namespace larmor::testing {

double most_apart(const std::vector<at::Tensor>& actual, const std::vector<at::Tensor>& wanted) {
  double most = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double apart = (actual[i].to(at::kDouble) - wanted[i]).norm().item<double>();
    const double share = apart / std::max(wanted[i].norm().item<double>(), 1.0);
    most = std::isfinite(share) ? std::max(most, share) : std::numeric_limits<double>::infinity();
  }
  return most;
}

bool have_equal_bits(const std::vector<at::Tensor>& left, const std::vector<at::Tensor>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const at::Tensor& one, const at::Tensor& other) { return one.equal(other); });
}

}  // namespace larmor::testing
