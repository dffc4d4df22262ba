#include "larmor/train/records.h"

#include <vector>

#include <ATen/ATen.h>

namespace larmor {

void Records::add(const std::string& name, const at::Tensor& value) {
  const auto number = value.detach().to(at::kDouble).reshape({});
  const auto [place, is_new] = sums_.emplace(name, number);
  if (!is_new) place->second = place->second + number.to(place->second.device());
}

Values Records::mean(int64_t micro_batches, const std::string& prefix, Communicator& communicator) const {
  Values values;
  if (sums_.empty()) return values;
  std::vector<at::Tensor> numbers;
  // A task records what it has, be it on the device or on the host.
  for (const auto& [name, sum] : sums_) numbers.push_back(sum.to(communicator.device()));
  auto means = at::stack(numbers) / static_cast<double>(micro_batches);
  communicator.all_reduce(means, Reduce::mean).wait();
  means = means.to(at::kCPU);
  int64_t index = 0;
  for (const auto& [name, sum] : sums_) values[prefix + name] = means[index++].item<double>();
  return values;
}

}  // namespace larmor
