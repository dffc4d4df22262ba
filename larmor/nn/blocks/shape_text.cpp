#include "larmor/nn/blocks/shape_text.h"

#include <vector>

#include "larmor/base/text.h"

namespace larmor::nn {

std::string shape_text(at::IntArrayRef shape) {
  std::vector<std::string> sizes;
  for (const int64_t size : shape) sizes.push_back(text(size));
  return text("[", join(sizes, ", "), "]");
}

}  // namespace larmor::nn
