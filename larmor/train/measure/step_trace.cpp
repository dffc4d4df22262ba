#include "larmor/train/measure/step_trace.h"

#include <fstream>
#include <set>

#include <torch/csrc/autograd/profiler_kineto.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

void trace(const std::filesystem::path& file, c10::Device device, const std::function<void()>& work) {
  // Kineto says nothing to its caller where it cannot write.
  if (!std::ofstream(file)) {
    fail(Exit::environment, text("no trace can be written to ", file),
         "name a file in a folder that can be written to");
  }
  namespace profiler = torch::autograd::profiler;
  const torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO,
                                                     /*report_input_shapes=*/true);
  std::set<torch::profiler::impl::ActivityType> activities{torch::profiler::impl::ActivityType::CPU};
  if (!device.is_cpu()) activities.insert(torch::profiler::impl::ActivityType::CUDA);
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(
      config, activities,
      {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE});
  try {
    work();
  } catch (...) {
    profiler::disableProfiler();
    throw;
  }
  profiler::disableProfiler()->save(file.string());
}

}  // namespace larmor
