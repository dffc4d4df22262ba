#include "app/call_ranks.h"

#include <algorithm>
#include <exception>

#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/run/machine.h"

#include "app/report.h"
#include "app/say.h"
#include "app/train/agent.h"
#include "app/train/gpu_watch.h"

namespace larmor::app {

namespace {

/// What a run has learnt in float64 is judged in float64. The narrow types are for speed in training: their
/// weights are float32, and so is what is computed with them here.
std::string precision_of_call(const RunConfig& config) {
  return config.train.precision == "fp64" ? "fp64" : "fp32";
}

}  // namespace

WeightChoice WeightFlags::choice() const {
  require(!average || !live, Exit::usage, "--ema and --no-ema exclude each other", "leave one of them out");
  return average ? WeightChoice::average : live ? WeightChoice::live : WeightChoice::of_stage;
}

void add_weight_flags(CLI::App& verb, WeightFlags& flags) {
  verb.add_flag("--ema", flags.average, "the averaged weights; without this and the next the stage decides");
  verb.add_flag("--no-ema", flags.live, "the weights as they were at the checkpoint's step");
}

void add_call_flags(CLI::App& verb, CallFlags& flags) {
  add_place_flags(verb, flags.place);
  verb.get_option("--ranks")->description("how many processes, auto, or a list of devices; one by default");
  add_weight_flags(verb, flags.weights);
}

Plan plan_call(const CallFlags& flags, const RunConfig& config, int64_t most) {
  RunConfig request;
  request.parallel.ranks = flags.place.ranks;
  request.parallel.device = flags.place.device == "auto" ? config.parallel.device : flags.place.device;
  request.parallel.threads =
      flags.place.threads.empty() ? config.parallel.threads : flags.place.threads_of_a_rank();
  request.parallel.strategy = "ddp";
  request.train.precision = precision_of_call(config);
  request.run.deterministic = config.run.deterministic;
  Demand demand;
  demand.training_examples = int64_t{1} << 30;
  auto hardware = detect_hardware();
  measure_cores({}, machine_record(), hardware);
  auto plan = make_plan(hardware, demand, request);
  if (plan.world_size() <= most) return plan;
  if (flags.place.ranks != "auto") {
    fail(Exit::usage, text(plan.world_size(), " ranks for ", most, most == 1 ? " case" : " cases"),
         text("say --ranks ", most, " at most"));
  }
  request.parallel.ranks = text(most);
  return make_plan(hardware, demand, request);
}

c10::Device device_of(const Plan& plan, int rank) {
  if (plan.device == DeviceKind::cpu) return c10::kCPU;
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(plan.ranks[static_cast<size_t>(rank)].device)};
}

std::vector<Gpu> gpus_of(const Plan& plan) {
  if (plan.device != DeviceKind::cuda) return {};
  auto gpus = detect_hardware().gpus;
  std::erase_if(gpus, [&](const Gpu& gpu) {
    return std::ranges::none_of(plan.ranks, [&](const auto& seat) { return seat.device == gpu.index; });
  });
  return gpus;
}

uint64_t memory_for(const Plan& plan, int rank) {
  const auto hardware = detect_hardware();
  if (plan.device == DeviceKind::cpu)
    return hardware.memory_available_bytes / static_cast<uint64_t>(plan.world_size());
  const int index = plan.ranks[static_cast<size_t>(rank)].device;
  const auto gpu = std::ranges::find(hardware.gpus, index, &Gpu::index);
  return gpu == hardware.gpus.end() ? 0 : gpu->free_bytes;
}

int run_on_ranks(const Program& program, ranks::Job job, const ranks::Prepare& prepare) {
  job.words = program.words();
  job.peers.rendezvous = start_limit();
  GpuWatch gpus(job.means == ranks::Job::Means::processes ? gpus_of(job.plan) : std::vector<Gpu>());
  const auto end =
      ranks::run(job, prepare, [](const std::exception_ptr& failure) { _exit(report(failure)); });
  const auto reasons = gpus.finish();
  if (end.rank_status == reader_had_enough) return reader_had_enough;
  // A rank that ended by itself has said why.
  const bool is_said =
      (end.first_rank == 0 && end.rank_status != 0) || end.raw_status == static_cast<int>(Exit::stopped);
  if (end.exit == Exit::done || is_said) return end.raw_status;
  say(text("larmor: ", end.message, reasons.empty() ? "" : "; ", reasons));
  say_last_lines(end.last_lines);
  return end.raw_status;
}

}  // namespace larmor::app
