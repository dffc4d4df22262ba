// Ten-step sampling of one modality by fast_ddpm's own `predict`, without files: sampling THREADS EDGE
// VOLUMES [contiguous]. As JSON, in milliseconds a volume; the network is that of the peers'
// fast_ddpm_step.py.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/rand.h>
#include <torch/nn/module.h>

#include "larmor/base/json.h"
#include "larmor/device/device.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/layout.h"
#include "larmor/device/module_state.h"
#include "larmor/task/prediction.h"

#include "workloads/fast_ddpm/denoiser/denoiser_task.h"

namespace larmor::fast_ddpm {
namespace {

constexpr int64_t sampling_steps = 10;

DenoiserConfig network_of_the_peer() {
  DenoiserConfig config;
  config.network.ch = 32;
  config.network.ch_mult = {1, 2};
  config.network.num_res_blocks = 1;
  // The 3-D fork's list has as many times as steps; the paper's has one more.
  config.scheduler_type = nn::FastDdpmTimesteps::uniform_from_zero;
  config.timesteps = sampling_steps;
  return config;
}

struct Case {
  explicit Case(int64_t edge) {
    for (const std::string name : {"t1n", "t1c", "t2w"}) {
      inputs.tensors[name] = at::rand({1, 1, edge, edge, edge}) * 2 - 1;
      context.grids[name] = {.size_of_file = {edge, edge, edge}};
    }
  }

  Batch inputs{.tensors = {}, .keys = {{.seed = 1, .epoch = 0, .example = 0}}};
  PredictionContext context;
};

/// Of one volume after the other.
std::vector<double> milliseconds_of_volumes(DenoiserTask& task, const Case& one, int volumes) {
  std::vector<double> times;
  for (int volume = 0; volume < volumes; ++volume) {
    const auto began = std::chrono::steady_clock::now();
    const DrawScope draws({.seed = 1, .epochs = {0}, .examples = {0}});
    task.predict(one.inputs, one.context);
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count());
  }
  return times;
}

Json measure(int threads, int64_t edge, int volumes, Layout layout) {
  Plan plan;
  plan.threads_per_rank = threads;
  set_up_process(plan, c10::kCPU);
  DenoiserTask task(network_of_the_peer(), /*seed=*/0, {edge, edge, edge});
  task.objectives().front().network->eval();
  const at::NoGradGuard no_grad;
  const LayoutScope in_layout(layout);
  const Case one(edge);
  milliseconds_of_volumes(task, one, 1);
  std::vector<double> times = milliseconds_of_volumes(task, one, volumes);
  std::sort(times.begin(), times.end());
  return {{"edge", edge},
          {"steps", sampling_steps},
          {"parameters", parameter_count(*task.objectives().front().network)},
          {"median_ms", times[times.size() / 2]},
          {"min_ms", times.front()},
          {"peak_rss_mib", static_cast<double>(peak_memory_bytes(c10::kCPU)) / (1 << 20)}};
}

}  // namespace
}  // namespace larmor::fast_ddpm

int main(int count, char** words) {
  if (count < 4) {
    std::cerr << "sampling THREADS EDGE VOLUMES [contiguous]\n";
    return 2;
  }
  // A plan of a CPU says channels-last.
  const bool is_contiguous = count > 4 && std::string_view(words[4]) == "contiguous";
  const auto layout = is_contiguous ? larmor::Layout::contiguous : larmor::Layout::channels_last;
  std::cout << larmor::fast_ddpm::measure(std::stoi(words[1]), std::stoll(words[2]), std::stoi(words[3]),
                                          layout)
                   .dump()
            << "\n";
  return 0;
}
