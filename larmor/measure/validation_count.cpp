#include "larmor/measure/validation_count.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/nn/module.h>

#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/device/meta/meta_kernels.h"
#include "larmor/device/meta/meta_memory.h"
#include "larmor/task/networks.h"

namespace larmor {
namespace {

at::Tensor on_meta(int64_t channels, const std::vector<int64_t>& size) {
  std::vector<int64_t> shape{1, channels};
  shape.insert(shape.end(), size.begin(), size.end());
  return at::empty(shape, at::TensorOptions(at::kMeta).dtype(at::kFloat));
}

/// `count` with the task on the meta device, as validation has it. What cannot be counted there, because it
/// looks at values, is told in the log: `what` is not known.
void count_on_meta(Task& task, const char* what, const std::function<void()>& count) {
  register_meta_kernels();
  for (torch::nn::Module* const network : networks_of(task)) {
    move_to_meta(*network);
    network->eval();
  }
  const at::NoGradGuard no_grad;
  try {
    count();
  } catch (const std::exception& error) {
    const std::string words = error.what();
    log::info(text("What ", what,
                   " keeps in memory is not known before it runs: ", words.substr(0, words.find('\n'))));
  }
}

int64_t peak_of(const std::function<void()>& pass) {
  const MetaMemoryScope memory;
  pass();
  return memory.peak();
}

}  // namespace

void count_validation(Task& task, int64_t channels, const std::vector<int64_t>& case_size,
                      const ValidationConfig& validation,
                      const std::function<void(const at::Tensor& images)>& judge, Demand& demand) {
  std::vector<int64_t> window;
  for (std::size_t axis = 0; axis < case_size.size(); ++axis)
    window.push_back(std::min(case_size[axis], validation.roi_size[axis]));
  const auto peak_over = [&](const std::vector<int64_t>& size) {
    return peak_of([&] { judge(on_meta(channels, size)); });
  };
  count_on_meta(task, "validation of whole cases", [&] {
    const int64_t of_window = peak_over(window), of_case = peak_over(case_size);
    demand.validation_window_bytes = of_window;
    demand.validation_case_bytes = std::max<int64_t>(of_case - of_window, 0);
    demand.validation_image_bytes = static_cast<int64_t>(on_meta(channels, case_size).nbytes());
  });
}

void count_sampling(Task& task, const std::function<void()>& sample, Demand& demand) {
  count_on_meta(task, "sampling for a picture", [&] { demand.validation_window_bytes = peak_of(sample); });
}

}  // namespace larmor
