// `bench step`: one training step of a workload, timed in blocks, on one rank or several. One JSON line under
// the keys of the Python peer's script, so that both can be read by one program.

#include <algorithm>
#include <iostream>

#include <ATen/ATen.h>
#include <unistd.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/file.h"
#include "larmor/base/process.h"
#include "larmor/base/storage.h"
#include "larmor/base/text.h"
#include "larmor/comm/communicator.h"
#include "larmor/device/device.h"
#include "larmor/launch/launcher.h"
#include "larmor/launch/rank.h"
#include "larmor/train/run_setup.h"
#include "larmor/train/step_benchmark.h"

#include "app/program.h"

namespace larmor::app {

namespace {

struct BenchArguments {
  int blocks = 7, steps = 3, warmup = 3;
  int threads = 0;
  std::string ranks = "1";
  std::string plan;  // of the parent, for a rank
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

// All ranks together: a step lasts as long as the slowest rank's.
Json time_steps(StepBenchmark& benchmark, Communicator& communicator, const BenchArguments& arguments) {
  const SystemClock clock;
  const auto timed = [&](int steps) {
    communicator.barrier();
    const double start = clock.steady_seconds();
    for (int i = 0; i < steps; ++i) benchmark.step();
    const auto milliseconds = at::full({1}, (clock.steady_seconds() - start) * 1e3 / steps,
                                       at::TensorOptions().dtype(at::kDouble).device(communicator.device()));
    communicator.all_reduce(milliseconds, Reduce::max).wait();
    return milliseconds.item<double>();
  };
  const double first = timed(1);
  if (arguments.warmup > 1) timed(arguments.warmup - 1);
  std::vector<double> blocks;
  for (int block = 0; block < arguments.blocks; ++block) blocks.push_back(timed(arguments.steps));
  Json result = summary(blocks);
  result["first_step_s"] = first / 1e3;
  result["loss_after"] = benchmark.last_loss();
  return result;
}

// The line of rank 0.
std::string time_as_rank(Workload& workload, const RunConfig& config, const Plan& plan, const Index& index,
                         Communicator& communicator, const BenchArguments& arguments) {
  StepBenchmark benchmark(workload, config, plan, index, communicator);
  const Json result = time_steps(benchmark, communicator, arguments);
  Json json;
  json["script"] = "larmor bench step";
  json["shape"] = benchmark.shape();
  json["adversarial"] = benchmark.objectives() > 1;
  json["parameters"] = benchmark.parameters();
  json["world"] = communicator.size();
  json["result"]["larmor"] = result;
  json["peak_rss_mib"] = static_cast<double>(peak_memory_bytes(c10::kCPU)) / (1 << 20);
  json["versions"] = {{"build", build_description()}, {"threads", plan.threads_per_rank}};
  return json.dump() + "\n";
}

int run_as_rank(Program& program, const BenchArguments& arguments, const Rank& rank) {
  auto& workload = program.workload(program.words().target);
  const auto config = program.load(workload);
  const auto plan = plan_from_json(read_json(arguments.plan));
  const auto index = workload.index(config.config);
  ConnectOptions options;
  options.device = plan.device;
  options.device_index = plan.ranks.at(static_cast<size_t>(rank.local_index)).device;
  const auto communicator = connect(rank, options);
  const auto line = time_as_rank(workload, config.config, plan, index, *communicator, arguments);
  if (rank.console_out >= 0) dprintf(rank.console_out, "%s", line.c_str());
  return 0;
}

int run_ranks_of(const Plan& plan, const Words& words, const BenchArguments& arguments) {
  const ScratchFolder scratch;
  const auto plan_file = scratch.path() / "plan.json";
  DiskStorage storage;
  write_text(storage, plan_file, to_text(to_json(plan)));
  LaunchOptions launch;
  launch.program = own_program();
  launch.log_folder = scratch.path();
  launch.arguments = {"bench",
                      "step",
                      words.target,
                      "--plan",
                      plan_file.string(),
                      "--blocks",
                      text(arguments.blocks),
                      "--steps",
                      text(arguments.steps),
                      "--warmup",
                      text(arguments.warmup)};
  const auto add = [&](const std::string& flag, const std::string& value) {
    if (!value.empty()) launch.arguments.insert(launch.arguments.end(), {flag, value});
  };
  add("--stage", words.stage);
  for (const auto& name : words.configs) add("-c", name);
  launch.arguments.insert(launch.arguments.end(), words.overrides.begin(), words.overrides.end());
  const auto end = run_ranks(plan, launch);
  if (end.exit != Exit::done) std::cerr << "larmor: " << end.message << "\n" << end.last_lines;
  return end.raw_status;
}

int bench_step(Program& program, const BenchArguments& arguments) {
  if (const auto rank = find_rank(process_environment()); rank && !arguments.plan.empty()) {
    return run_as_rank(program, arguments, *rank);
  }
  auto& workload = program.workload(program.words().target);
  auto& words = program.words();
  words.overrides.push_back("parallel.ranks=" + arguments.ranks);
  const auto config = program.load(workload);
  auto draft = draft_run(workload, config);
  if (arguments.threads > 0) draft.plan.threads_per_rank = arguments.threads;
  if (draft.plan.world_size() > 1) return run_ranks_of(draft.plan, words, arguments);
  const auto alone = make_solo();
  std::cout << time_as_rank(workload, config.config, draft.plan, draft.index, *alone, arguments);
  return 0;
}

}  // namespace

void add_bench(Program& program) {
  const auto arguments = std::make_shared<BenchArguments>();
  auto& family = program.add_family("bench", "time parts of the program");
  auto& verb = program.add_workload_verb(
      "step", "one training step, in blocks; one JSON line",
      [&program, arguments] { return bench_step(program, *arguments); }, &family);
  verb.add_option("--blocks", arguments->blocks, "timed blocks")->check(CLI::PositiveNumber);
  verb.add_option("--steps", arguments->steps, "steps in a block")->check(CLI::PositiveNumber);
  verb.add_option("--warmup", arguments->warmup, "steps before the first block")->check(CLI::PositiveNumber);
  verb.add_option("--threads", arguments->threads, "threads of a rank instead of the plan's");
  verb.add_option("--ranks", arguments->ranks, "how many processes, each with a micro-batch of its own");
  verb.add_option("--plan", arguments->plan, "")->group("");
  add_bench_loader(program, family);
}

}  // namespace larmor::app
