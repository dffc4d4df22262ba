// `bench step`: one training step of a workload, timed in blocks. One JSON line under the keys of the
// Python peer's script, so that both can be read by one program.

#include <ATen/ATen.h>

#include <algorithm>
#include <iostream>

#include "app/program.h"
#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/device.h"
#include "larmor/train/run_setup.h"
#include "larmor/train/step_benchmark.h"

namespace larmor::app {

namespace {

struct Arguments {
  int blocks = 7, steps = 3, warmup = 3;
  int threads = 0;
};

double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto lower = static_cast<size_t>(place);
  const auto upper = std::min(lower + 1, sorted.size() - 1);
  return sorted[lower] + (place - static_cast<double>(lower)) * (sorted[upper] - sorted[lower]);
}

Json summary(std::vector<double> blocks) {
  std::sort(blocks.begin(), blocks.end());
  Json json;
  json["median_ms"] = quantile(blocks, 0.5);
  json["min_ms"] = blocks.front();
  json["q1_ms"] = quantile(blocks, 0.25);
  json["q3_ms"] = quantile(blocks, 0.75);
  json["blocks"] = blocks.size();
  return json;
}

int bench_step(Program& program, const Arguments& arguments) {
  auto& workload = program.workload(program.words().target);
  const auto config = program.load(workload);
  auto draft = draft_run(workload, config);
  if (draft.plan.world_size() != 1) fail(Exit::usage, "bench step times one rank", "say parallel.ranks=1");
  if (arguments.threads > 0) draft.plan.threads_per_rank = arguments.threads;
  StepBenchmark benchmark(workload, config.config, draft.plan, draft.index);
  const SystemClock clock;
  const auto timed = [&](int steps) {
    const double start = clock.steady_seconds();
    for (int i = 0; i < steps; ++i) benchmark.step();
    return (clock.steady_seconds() - start) * 1e3 / steps;
  };
  const double first = timed(1);
  if (arguments.warmup > 1) timed(arguments.warmup - 1);
  std::vector<double> blocks;
  for (int block = 0; block < arguments.blocks; ++block) blocks.push_back(timed(arguments.steps));

  Json result = summary(blocks);
  result["first_step_s"] = first / 1e3;
  result["loss_after"] = benchmark.last_loss();
  Json json;
  json["script"] = "larmor bench step";
  json["shape"] = benchmark.shape();
  json["adversarial"] = benchmark.objectives() > 1;
  json["parameters"] = benchmark.parameters();
  json["result"]["larmor"] = result;
  json["peak_rss_mib"] = static_cast<double>(peak_memory_bytes(c10::kCPU)) / (1 << 20);
  json["versions"] = {{"build", build_description()}, {"threads", draft.plan.threads_per_rank}};
  std::cout << json.dump() << "\n";
  return 0;
}

}  // namespace

void add_bench(Program& program) {
  const auto arguments = std::make_shared<Arguments>();
  auto& family = program.add_family("bench", "time parts of the program");
  auto& verb = program.add_configured_verb("step", "one training step, in blocks; one JSON line",
                                           [&program, arguments] { return bench_step(program, *arguments); }, &family);
  verb.add_option("--blocks", arguments->blocks, "timed blocks")->check(CLI::PositiveNumber);
  verb.add_option("--steps", arguments->steps, "steps in a block")->check(CLI::PositiveNumber);
  verb.add_option("--warmup", arguments->warmup, "steps before the first block")->check(CLI::PositiveNumber);
  verb.add_option("--threads", arguments->threads, "threads instead of the plan's");
}

}  // namespace larmor::app
