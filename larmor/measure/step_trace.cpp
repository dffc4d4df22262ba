#include "larmor/measure/step_trace.h"

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include <torch/csrc/autograd/profiler_kineto.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/regular_file.h"
#include "larmor/base/files/whole_file.h"

namespace larmor {

namespace {

/// Kineto writes to a name alone, and says nothing to its caller where it cannot: what it has written is
/// whole when it ends as JSON does.
void copy_trace(const std::filesystem::path& trace, StorageFile& file) {
  const auto written = naming(trace, [&] { return open_regular(trace, Exit::environment); });
  std::vector<char> block(std::size_t{1} << 20);
  uint64_t done = 0;
  char last = ' ';
  while (const auto count = written.read_at(done, std::as_writable_bytes(std::span(block)))) {
    const std::string_view words(block.data(), count);
    file.write(words);
    done += count;
    if (const auto place = words.find_last_not_of(" \n"); place != words.npos) last = words[place];
  }
  require(last == '}', Exit::environment, "the trace was cut while it was written below the temporary folder",
          "free space there, or name another by TMPDIR");
  file.close();
}

}  // namespace

void trace(Storage& storage, const std::filesystem::path& file, c10::Device device,
           const std::function<void()>& work) {
  const auto output = open_output(storage, file);
  const ScratchFolder scratch;
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
  const auto trace = scratch.path() / "trace.json";
  profiler::disableProfiler()->save(trace.string());
  copy_trace(trace, *output);
}

}  // namespace larmor
