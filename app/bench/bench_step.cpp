// `bench step`: one training step of a workload, timed in blocks, on one rank or several. One JSON line under
// the keys of the Python peer's script, so that both can be read by one program; for a list of rank counts
// also how well the step scales.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include <ATen/ATen.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/text.h"
#include "larmor/comm/communicator.h"
#include "larmor/device/device.h"
#include "larmor/launch/rank.h"
#include "larmor/measure/roofline.h"
#include "larmor/measure/step_trace.h"
#include "larmor/ranks/run.h"
#include "larmor/run/run_setup.h"
#include "larmor/train/step_benchmark.h"

#include "app/call_ranks.h"
#include "app/program.h"
#include "app/say.h"

namespace larmor::app {

namespace {

constexpr int64_t batches_of_benchmark = 4;

struct StepArguments {
  int blocks = 7, steps = 3, warmup = 3;
  PlaceFlags place = {.ranks = "1", .device = "", .threads = ""};  // of several numbers each in turn
  std::string profile;                                             // where rank 0 writes a trace
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

struct Block {
  double step_ms = 0;        // of the slowest rank
  double exposed_share = 0;  // the mean of the ranks
};

/// All ranks together: a step lasts as long as the slowest rank's.
Block time_block(StepBenchmark& benchmark, Communicator& communicator, int steps) {
  const SystemClock clock;
  const auto options = at::TensorOptions().dtype(at::kDouble).device(communicator.device());
  communicator.barrier();
  benchmark.take_seconds_held_up();
  const double start = clock.steady_seconds();
  for (int i = 0; i < steps; ++i) benchmark.step();
  const double seconds = clock.steady_seconds() - start;
  const auto slowest = at::full({1}, seconds * 1e3 / steps, options);
  const auto share = at::full({1}, benchmark.take_seconds_held_up() / seconds, options);
  communicator.all_reduce(slowest, Reduce::max).wait();
  communicator.all_reduce(share, Reduce::mean).wait();
  return {.step_ms = slowest.item<double>(), .exposed_share = share.item<double>()};
}

Json time_steps(StepBenchmark& benchmark, Communicator& communicator, const StepArguments& arguments,
                int64_t samples_per_step) {
  const double first = time_block(benchmark, communicator, 1).step_ms;
  if (arguments.warmup > 1) time_block(benchmark, communicator, arguments.warmup - 1);
  std::vector<double> milliseconds, shares;
  for (int block = 0; block < arguments.blocks; ++block) {
    const auto [step_ms, exposed_share] = time_block(benchmark, communicator, arguments.steps);
    milliseconds.push_back(step_ms);
    shares.push_back(exposed_share);
  }
  std::sort(shares.begin(), shares.end());
  Json result = summary(milliseconds);
  result["first_step_s"] = first / 1e3;
  result["loss_after"] = benchmark.last_loss();
  result["samples_per_s"] = static_cast<double>(samples_per_step) * 1e3 / result["median_ms"].get<double>();
  result["exposed_communication"] = quantile(shares, 0.5);
  return result;
}

/// Of one more step. All ranks measure their peaks at the same time, as they share the machine. Collective.
Roofline roofline_of(StepBenchmark& benchmark, Communicator& communicator, const Plan& plan, double step_ms) {
  Roofline roofline{.seconds = step_ms * 1e-3};
  roofline.count = count_operations([&] { benchmark.step_without_graphs(); });
  communicator.barrier();
  roofline.peak = measured_peak(communicator.device(), plan.precision, plan.layout);
  return roofline;
}

/// Collective.
void trace_steps(StepBenchmark& benchmark, const Communicator& communicator, const StepArguments& arguments,
                 Storage& storage) {
  const auto steps = [&] {
    for (int i = 0; i < arguments.steps; ++i) benchmark.step();
  };
  communicator.is_first() ? trace(storage, arguments.profile, communicator.device(), steps) : steps();
}

/// Of a GPU, in MiB: the most that libtorch's allocator has given out, and what the plan foresees. Empty on a
/// CPU.
Json memory_of(const StepBenchmark& benchmark, const Communicator& communicator, const Plan& plan) {
  if (communicator.device().is_cpu()) return {};
  const auto in_mib = [](int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  return {{"peak_mib", in_mib(peak_memory_bytes(communicator.device()))},
          {"reserved_mib", in_mib(peak_reserved_bytes(communicator.device()))},
          {"batches_mib", in_mib(batches_of_benchmark * benchmark.batch_bytes())},
          {"planned_mib", in_mib(plan.memory.total())},
          {"planned_batches_mib", in_mib(plan.memory.batch)}};
}

/// The line of rank 0.
Json time_as_rank(const LoadedStage& loaded, const Plan& plan, const Index& index, Communicator& communicator,
                  const StepArguments& arguments, Storage& storage) {
  StepBenchmark benchmark(*loaded.stage, loaded.config.config, plan, index, communicator,
                          batches_of_benchmark);
  auto result = time_steps(benchmark, communicator, arguments, plan.micro_batch * communicator.size());
  // Before the probes of the roofline, which take more than a small network.
  const auto resident_mib = static_cast<double>(peak_memory_bytes(c10::kCPU)) / (1 << 20);
  const Json memory = memory_of(benchmark, communicator, plan);
  const auto roofline = roofline_of(benchmark, communicator, plan, result["median_ms"].get<double>());
  result["roofline"] = to_json(roofline);
  if (!arguments.profile.empty()) trace_steps(benchmark, communicator, arguments, storage);
  Json json;
  json["script"] = "larmor bench step";
  json["shape"] = benchmark.shape();
  json["adversarial"] = benchmark.objectives() > 1;
  json["parameters"] = benchmark.parameters();
  json["world"] = communicator.size();
  json["strategy"] = to_text(plan.strategy);
  json["result"]["larmor"] = result;
  json["roofline"] = describe(roofline);
  json["peak_rss_mib"] = resident_mib;
  if (!memory.empty()) json["memory"] = memory;
  json["versions"] = {{"build", build_description()}, {"threads", plan.threads_per_rank}};
  return json;
}

Plan draft_plan(const LoadedStage& loaded) {
  auto plan = draft_run(loaded).plan;
  if (plan.in_one_process()) {
    fail(Exit::usage, "bench step times ranks that are processes, and parallel.strategy is dp",
         "parallel.strategy=ddp; between GPUs the arithmetic and the collectives are the same");
  }
  return plan;
}

/// Rank 0's, for ranks that another launcher has started.
Plan agree_on_plan(const LoadedStage& loaded, ranks::LiveRank& rank) {
  const auto group = rank.connect(DeviceKind::cpu, -1);
  const auto own = to_text(to_json(draft_plan(loaded)));
  return plan_from_json(parse_json(broadcast_bytes(*group, own, 0), "rank 0's plan"));
}

LoadedStage load_for(Program& program, int count) {
  auto& overrides = program.arguments().overrides;
  overrides.push_back(text("parallel.ranks=", count));
  auto loaded = program.load(program.workload(program.arguments().target));
  overrides.pop_back();
  return loaded;
}

/// The exit status. `take` gets the line of rank 0, on that rank.
int time_on_ranks(Program& program, const StepArguments& arguments, const LoadedStage& loaded,
                  const ranks::Job& job, const std::function<void(const Json&)>& take) {
  return run_on_ranks(program, job, [&] {
    return [&, index = loaded.stage->index(loaded.config.config)](ranks::LiveRank& rank) {
      const auto plan = job.plan.ranks.empty() ? agree_on_plan(loaded, rank) : job.plan;
      const auto communicator = rank.connect_watched(plan);
      rank.enter(Phase::computing);
      const auto line = time_as_rank(loaded, plan, index, *communicator, arguments, program.storage());
      if (rank.is_first()) take(line);
    };
  });
}

/// This process was started as a rank, by whomever.
int be_rank(Program& program, const StepArguments& arguments, const ranks::Job& job) {
  const std::string file = job.request.value("line", "");
  return time_on_ranks(program, arguments, load_for(program, job.rank->count), job, [&](const Json& line) {
    file.empty() ? program.print(Lines(line.dump())) : write_text(program.storage(), file, line.dump());
  });
}

std::vector<int> rank_counts(const std::string& list) {
  std::vector<int> counts;
  for (const auto& word : split(list, ',')) {
    const auto digits = trim(word);
    int count = 0;
    const auto [stop, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    if (problem != std::errc() || stop != digits.data() + digits.size() || count < 1)
      fail(Exit::usage, text("--ranks ", list, " is no list of rank counts"), "say --ranks 1,2,4");
    counts.push_back(count);
  }
  return counts;
}

/// Samples a second and rank, as a share of the first's.
Json scaling_of(const std::vector<Json>& lines) {
  const auto rate = [](const Json& line) {
    return line["result"]["larmor"]["samples_per_s"].get<double>() / line["world"].get<double>();
  };
  Json rows = Json::array();
  for (const auto& line : lines) {
    Json row;
    for (const auto* key : {"world", "strategy", "shape", "result", "peak_rss_mib"}) row[key] = line[key];
    row["threads"] = line["versions"]["threads"];
    row["efficiency"] = rate(line) / rate(lines.front());
    rows.push_back(row);
  }
  return rows;
}

void show_scaling(const Json& rows) {
  say("ranks     step ms  samples/s  efficiency  exposed communication");
  for (const auto& row : rows) {
    const auto& result = row["result"]["larmor"];
    std::string line;
    const auto column = [&](const std::string& cell, size_t width) {
      line += std::string(width > cell.size() ? width - cell.size() : 1, ' ') + cell;
    };
    column(text(row["world"].get<int>()), 5);
    column(fixed(result["median_ms"].get<double>(), 1), 12);
    column(fixed(result["samples_per_s"].get<double>(), 2), 11);
    column(fixed(row["efficiency"].get<double>() * 100, 1) + " %", 12);
    column(fixed(result["exposed_communication"].get<double>() * 100, 1) + " %", 23);
    say(line);
  }
}

/// The line of one number of ranks.
void show(const Program& program, const Json& line) {
  if (!program.arguments().quiet) say(line["roofline"].get<std::string>());
  program.print(Lines(line.dump()));
}

void prepare_profile(StepArguments& arguments, std::size_t counts) {
  if (arguments.profile.empty()) return;
  require(counts == 1, Exit::usage, "--profile is for one number of ranks", "say one --ranks");
  // libtorch's profiler speaks to people even where there is nothing to say, as of a driver that is not
  // there.
  setenv("KINETO_LOG_LEVEL", "99", /*overwrite=*/0);
  arguments.profile = std::filesystem::absolute(arguments.profile).string();
  const auto folder = std::filesystem::path(arguments.profile).parent_path();
  if (!std::filesystem::is_directory(folder))
    fail(Exit::usage, text("--profile: there is no folder ", folder),
         "create it first, or name another file");
}

int bench_step(Program& program, StepArguments arguments) {
  auto place = arguments.place;
  place.ranks.clear();  // one number after the other
  for (const auto& key : place.keys()) program.arguments().overrides.push_back(key);
  const auto counts = rank_counts(arguments.place.ranks);
  prepare_profile(arguments, counts.size());
  if (const auto job = ranks::inherited_job()) return be_rank(program, arguments, *job);
  if (auto rank = find_rank(process_environment()))
    return be_rank(program, arguments, {.rank = std::move(rank)});
  struct Turn {
    LoadedStage loaded;
    ranks::Job job;
  };
  std::vector<Turn> turns;  // all are planned before the first takes its time
  const ScratchFolder scratch;
  const auto file = scratch.path() / "line.json";
  for (const int count : counts) {
    auto loaded = load_for(program, count);
    ranks::Job job{.plan = draft_plan(loaded), .request = {{"line", file.string()}}};
    if (counts != std::vector{1}) job.means = ranks::Job::Means::processes;
    job.hang = parse_hang_limit(loaded.config.config.parallel.hang_limit);
    turns.push_back({std::move(loaded), std::move(job)});
  }
  std::vector<Json> lines;
  for (const auto& [loaded, job] : turns) {
    auto& line = lines.emplace_back();
    const int status = time_on_ranks(program, arguments, loaded, job, [&](const Json& own) { line = own; });
    if (status != 0) return status;
    if (job.means == ranks::Job::Means::processes) line = read_json(file);
  }
  if (lines.size() == 1) {
    show(program, lines.front());
    return 0;
  }
  Json json = lines.front();
  for (const auto* key : {"shape", "world", "strategy", "result", "roofline", "peak_rss_mib"})
    json.erase(key);
  json["ranks"] = scaling_of(lines);
  json["versions"].erase("threads");
  if (!program.arguments().quiet) show_scaling(json["ranks"]);
  program.print(Lines(json.dump()));
  return 0;
}

}  // namespace

void add_bench_step(Program& program, CLI::App& family) {
  const auto arguments = std::make_shared<StepArguments>();
  auto& verb = program.add_workload_verb(
      "step", "one training step, in blocks; one JSON line",
      [&program, arguments] { return bench_step(program, *arguments); }, {.place_is_config = false}, &family);
  verb.add_option("--blocks", arguments->blocks, "timed blocks")->check(at_least(1));
  verb.add_option("--steps", arguments->steps, "steps in a block")->check(at_least(1));
  verb.add_option("--warmup", arguments->warmup, "steps before the first block")->check(at_least(1));
  add_place_flags(verb, arguments->place);
  verb.get_option("--ranks")->description("how many processes; of a list each in turn: 1,2,4");
  verb.add_option("--profile", arguments->profile, "writes a trace of a block of steps for chrome://tracing");
}

}  // namespace larmor::app
