// `bench collectives`: how long the ranks' collectives take, and what bandwidth that makes, by backend,
// operation and size. Sizes and bus bandwidth are those of NCCL's tests. Source: nccl-tests, PERFORMANCE.md.
#include <algorithm>
#include <array>
#include <functional>

#include <ATen/ATen.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/comm/communicator.h"
#include "larmor/config/units.h"
#include "larmor/device/device.h"
#include "larmor/hardware/hardware.h"
#include "larmor/launch/rank.h"
#include "larmor/ranks/run.h"

#include "app/call_ranks.h"
#include "app/program.h"
#include "app/say.h"

namespace larmor::app {

namespace {

struct CollectivesArguments {
  int ranks = 0;  // 0: one a GPU, at least two
  std::string backends = "auto";
  std::string operations = "all_reduce,reduce_scatter,all_gather,broadcast";
  std::string sizes = "4KiB,64KiB,1MiB,16MiB,64MiB";
  double seconds = 0.5;
};

/// One timed collective over `bytes` bytes of float32, the whole of it: what reduce_scatter takes in and
/// all_gather gives.
struct Operation {
  std::string name;
  double (*bus_factor)(int ranks);
  Pending (*start)(Communicator& communicator, const at::Tensor& whole, const at::Tensor& shard);
};

double share_of_others(int ranks) { return static_cast<double>(ranks - 1) / ranks; }

const std::array<Operation, 4>& operations() {
  static const std::array<Operation, 4> all{
      Operation{"all_reduce", [](int ranks) { return 2 * share_of_others(ranks); },
                [](Communicator& communicator, const at::Tensor& whole, const at::Tensor&) {
                  return communicator.all_reduce(whole, Reduce::sum);
                }},
      Operation{"reduce_scatter", share_of_others,
                [](Communicator& communicator, const at::Tensor& whole, const at::Tensor& shard) {
                  return communicator.reduce_scatter(whole, shard, Reduce::sum);
                }},
      Operation{"all_gather", share_of_others,
                [](Communicator& communicator, const at::Tensor& whole, const at::Tensor& shard) {
                  return communicator.all_gather(shard, whole);
                }},
      Operation{"broadcast", [](int) { return 1.0; },
                [](Communicator& communicator, const at::Tensor& whole, const at::Tensor&) {
                  return communicator.broadcast(whole, 0);
                }}};
  return all;
}

std::vector<Operation> chosen_operations(const CollectivesArguments& arguments) {
  std::vector<Operation> chosen;
  std::vector<std::string> names;
  for (const auto& operation : operations()) names.push_back(operation.name);
  for (const auto& name : split(arguments.operations, ',')) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      const auto near = nearest(name, names);
      fail(Exit::usage, text("there is no operation ", name),
           text(near.empty() ? "" : text("did you mean ", near, "? "),
                "the operations are: ", join(names, ", ")));
    }
    chosen.push_back(operations().at(static_cast<size_t>(found - names.begin())));
  }
  return chosen;
}

std::vector<int64_t> chosen_sizes(const CollectivesArguments& arguments) {
  constexpr int64_t most = int64_t{1} << 36;
  std::vector<int64_t> sizes;
  for (const auto& word : split(arguments.sizes, ',')) {
    const auto bytes = static_cast<int64_t>(parse_bytes(trim(word)));
    if (bytes < 1 || bytes > most)
      fail(Exit::usage, text("--sizes names ", word), "say sizes from one byte to 64GiB, such as 4KiB,1MiB");
    sizes.push_back(bytes);
  }
  return sizes;
}

bool gpus_do(const Hardware& hardware, int ranks) {
  return cuda_is_usable() && ranks <= static_cast<int>(hardware.gpus.size());
}

std::vector<std::string> chosen_backends(const CollectivesArguments& arguments, const Hardware& hardware,
                                         int ranks) {
  if (arguments.backends == "auto") {
    std::vector<std::string> all{"gloo"};
    if (gpus_do(hardware, ranks)) all.emplace_back("nccl");
    return all;
  }
  auto chosen = split(arguments.backends, ',');
  const std::vector<std::string> known{"gloo", "nccl"};
  for (const auto& name : chosen) {
    if (std::ranges::find(known, name) == known.end()) {
      const auto near = nearest(name, known);
      fail(Exit::usage, text("there is no backend ", name),
           text(near.empty() ? "" : text("did you mean ", near, "? "), "the backends are: gloo, nccl"));
    }
    if (name == "nccl" && !gpus_do(hardware, ranks)) {
      fail(Exit::environment,
           text("nccl needs a GPU a rank: there are ", ranks, " ranks and ", hardware.gpus.size(), " GPUs",
                hardware.gpus.empty() || !cuda_obstacle() ? "" : text(", but ", cuda_obstacle()->why)),
           "--backends gloo");
    }
  }
  return chosen;
}

/// Each of `count` collectives, in seconds of the slowest rank.
std::vector<double> time_each(Communicator& communicator, const Operation& operation, const at::Tensor& whole,
                              const at::Tensor& shard, int64_t count) {
  const SystemClock clock;
  auto seconds = at::zeros({count}, at::kDouble);
  for (int64_t i = 0; i < count; ++i) {
    communicator.barrier();
    const double start = clock.steady_seconds();
    operation.start(communicator, whole, shard).wait();
    synchronize(communicator.device());
    seconds[i] = clock.steady_seconds() - start;
  }
  auto slowest = seconds.to(communicator.device());
  communicator.all_reduce(slowest, Reduce::max).wait();
  slowest = slowest.to(at::kCPU);
  return {slowest.const_data_ptr<double>(), slowest.const_data_ptr<double>() + count};
}

Json time_one(Communicator& communicator, const Operation& operation, int64_t bytes, double seconds) {
  constexpr int64_t at_once = 5, most = 1000;
  const int64_t shard_elements =
      std::max<int64_t>(1, (bytes + 4L * communicator.size() - 1) / (4L * communicator.size()));
  const auto options = at::TensorOptions().dtype(at::kFloat).device(communicator.device());
  const auto whole = at::zeros({shard_elements * communicator.size()}, options);
  const auto shard = at::zeros({shard_elements}, options);
  time_each(communicator, operation, whole, shard, 2);  // opens connections, takes memory
  std::vector<double> times;
  // Of the slowest rank, so that all stop after the same round.
  for (double spent = 0; spent < seconds && static_cast<int64_t>(times.size()) < most;) {
    for (const double one : time_each(communicator, operation, whole, shard, at_once)) {
      times.push_back(one);
      spent += one;
    }
  }
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  const auto whole_bytes = static_cast<double>(whole.nbytes());
  Json row;
  row["operation"] = operation.name;
  row["bytes"] = whole.nbytes();
  row["repeats"] = times.size();
  row["median_us"] = median * 1e6;
  row["min_us"] = times.front() * 1e6;
  row["p95_us"] = times[static_cast<size_t>(0.95 * static_cast<double>(times.size() - 1))] * 1e6;
  row["algorithm_gb_per_s"] = whole_bytes / median * 1e-9;
  row["bus_gb_per_s"] = whole_bytes / median * 1e-9 * operation.bus_factor(communicator.size());
  return row;
}

std::string cell(const std::string& words, size_t width) {
  return std::string(width > words.size() ? width - words.size() : 1, ' ') + words;
}

std::string table_line(const Json& row) {
  return text(cell(row["backend"].get<std::string>(), 7), cell(row["operation"].get<std::string>(), 16),
              cell(human_bytes(row["bytes"].get<uint64_t>()), 10),
              cell(human_seconds(row["median_us"].get<double>() * 1e-6), 10),
              cell(fixed(row["algorithm_gb_per_s"].get<double>(), 4), 16),
              cell(fixed(row["bus_gb_per_s"].get<double>(), 4), 10));
}

void time_as_rank(Program& program, const CollectivesArguments& arguments, ranks::LiveRank& rank) {
  const Rank& place = rank.place();
  require(place.count > 1, Exit::usage, "one rank has nobody to speak to", "start at least two");
  const auto sizes = chosen_sizes(arguments);
  const auto chosen = chosen_operations(arguments);
  const auto backends = chosen_backends(arguments, detect_hardware(), place.local_count);
  const bool speaks = rank.is_first() && !program.arguments().quiet;
  if (speaks) say("backend       operation      size    median  algorithm GB/s  bus GB/s");
  Json rows = Json::array();
  for (const auto& backend : backends) {
    Plan plan;
    plan.device = backend == "nccl" ? DeviceKind::cuda : DeviceKind::cpu;
    for (int local = 0; local < place.local_count; ++local)
      plan.ranks.push_back({.device = plan.device == DeviceKind::cuda ? local : -1, .cores = {}});
    const auto communicator = rank.connect_watched(plan);
    set_up_process(plan, communicator->device());
    for (const auto& operation : chosen) {
      for (const auto bytes : sizes) {
        rank.enter(Phase::communicating, std::ssize(rows));
        auto row = time_one(*communicator, operation, bytes, arguments.seconds);
        row["backend"] = backend;
        if (speaks) say(table_line(row));
        rows.push_back(row);
      }
    }
  }
  if (!rank.is_first()) return;
  Json json;
  json["script"] = "larmor bench collectives";
  json["world"] = place.count;
  json["result"] = rows;
  json["versions"] = {{"build", build_description()}, {"threads", 1}};
  program.print(Lines(json.dump()));
}

/// Where the ranks run.
Plan plan_ranks(const CollectivesArguments& arguments) {
  const auto hardware = detect_hardware();
  const int gpus = cuda_is_usable() ? static_cast<int>(hardware.gpus.size()) : 0;
  const int count = arguments.ranks > 0 ? arguments.ranks : std::max(2, gpus);
  require(count > 1, Exit::usage, "one rank has nobody to speak to", "--ranks 2 or more");
  chosen_sizes(arguments);
  chosen_operations(arguments);
  chosen_backends(arguments, hardware, count);
  Plan plan;
  for (int rank = 0; rank < count; ++rank) {
    RankSeat seat{.device = count <= gpus ? rank : -1, .cores = {}};
    if (count <= static_cast<int>(hardware.cores.size()))
      seat.cores = {hardware.cores[static_cast<size_t>(rank)]};
    plan.ranks.push_back(seat);
  }
  return plan;
}

int bench_collectives(Program& program, const CollectivesArguments& arguments) {
  program.refuse_overrides();
  ranks::Job job{.rank = find_rank(process_environment())};
  if (!job.rank) {
    job.plan = plan_ranks(arguments);
    job.means = ranks::Job::Means::processes;
    // As long as a collective may take.
    job.hang.floor = job.hang.start;
  }
  return run_on_ranks(program, std::move(job),
                      [&] { return [&](ranks::LiveRank& rank) { time_as_rank(program, arguments, rank); }; });
}

}  // namespace

void add_bench_collectives(Program& program, CLI::App& family) {
  const auto arguments = std::make_shared<CollectivesArguments>();
  auto& verb = program.add_verb(
      "collectives", "what the ranks' collectives take, by backend, operation and size; one JSON line",
      [&program, arguments] { return bench_collectives(program, *arguments); }, &family);
  verb.add_option("--ranks", arguments->ranks, "how many processes; one a GPU, at least two")
      ->check(at_least(1));
  verb.add_option("--backends", arguments->backends, "gloo, nccl; auto: gloo, and nccl where GPUs suffice");
  verb.add_option("--operations", arguments->operations, "all_reduce, reduce_scatter, all_gather, broadcast");
  verb.add_option("--sizes", arguments->sizes, "of the whole buffer, float32: 4KiB,1MiB");
  verb.add_option("--seconds", arguments->seconds, "of measuring, about, for each figure")
      ->check(CLI::Range(1e-3, 3600.0));
}

}  // namespace larmor::app
