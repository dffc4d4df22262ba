// `bench loader`: how long volumes take from file to sample, and how fast the loader's workers bring batches.
// One JSON line under the keys of the Python peer's script.
#include <sys/resource.h>

#include <algorithm>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/loader/load_benchmark.h"
#include "larmor/data/loader/loader.h"
#include "larmor/device/device.h"
#include "larmor/hardware/hardware.h"
#include "larmor/transforms/declared_chain.h"

#include "app/program.h"
#include "app/say.h"

namespace larmor::app {

namespace {

struct LoaderArguments {
  int repeats = 5;
  int workers = 0;  // 0: one a core
};

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Throughput {
  double samples_per_second = 0, cores_used = 0;
};

/// One epoch of the training split through worker threads, as a training run would fetch it.
Throughput fetch_all(const Dataset& dataset, const RunConfig& config, int workers) {
  const ExampleOrder order(static_cast<uint64_t>(config.run.seed), dataset.size(),
                           dataset.examples_per_case());
  Loader loader(dataset, order, {}, /*consumed=*/0,
                {.workers = workers,
                 .prefetch = 2 * workers,
                 .bad_files = bad_file_budget(config.data.bad_files, dataset.size())});
  const SystemClock clock;
  const double began = clock.steady_seconds(), worked = processor_seconds();
  for (int64_t i = 0; i < dataset.size(); ++i) loader.next();
  const double seconds = clock.steady_seconds() - began;
  return {.samples_per_second = static_cast<double>(dataset.size()) / seconds,
          .cores_used = (processor_seconds() - worked) / seconds};
}

int bench_loader(Program& program, const LoaderArguments& arguments) {
  const auto loaded = program.load(program.workload(program.arguments().target));
  const auto& stage = *loaded.stage;
  const auto& config = loaded.config.config;
  const auto index = stage.index(config);
  require(!index.of(Split::train).empty(), Exit::data, "the training split has no case to fetch",
          "raise data.split.train");
  Plan plan;  // as a rank on CPUs is set up
  plan.threads_per_rank = static_cast<int>(config.parallel.threads.value_or(1));
  set_up_process(plan, c10::kCPU);
  const auto transforms = training_chain(config.data.transforms);
  const bool speaks = !program.arguments().quiet;
  const auto times = time_loading(index, transforms, arguments.repeats, [&](int round, int rounds) {
    if (speaks) say(text("round ", round, " of ", rounds, " (0 warms up)"));
  });
  const int workers = arguments.workers > 0 ? arguments.workers : detect_hardware().usable_cores();
  const auto training = stage.dataset(config, index, Split::train);
  const double sample_ms = time_samples(*training, static_cast<uint64_t>(config.run.seed), arguments.repeats);
  const auto throughput = fetch_all(*training, config, workers);
  Json json;
  json["script"] = "larmor bench loader";
  json["volumes"] = times.volumes;
  json["repeats"] = arguments.repeats;
  json["transforms"] = transforms;
  json["mean_ms_per_volume"] = times.mean_ms;
  json["mean_ms_per_sample"] = {{config.data.cache, sample_ms}};  // through the cache that it names
  json["total_ms_all_volumes"] = times.mean_ms.at("chain") * static_cast<double>(times.volumes);
  json["samples_per_second"] = throughput.samples_per_second;
  json["cores_used"] = throughput.cores_used;
  json["workers"] = workers;
  json["peak_rss_mib"] = static_cast<double>(peak_memory_bytes(c10::kCPU)) / (1 << 20);
  json["versions"] = {{"build", build_description()}, {"threads", plan.threads_per_rank}};
  program.print(Lines(json.dump()));
  return 0;
}

}  // namespace

void add_bench_loader(Program& program, CLI::App& family) {
  const auto arguments = std::make_shared<LoaderArguments>();
  auto& verb = program.add_workload_verb(
      "loader", "every case from file to sample, stage by stage; one JSON line",
      [&program, arguments] { return bench_loader(program, *arguments); }, {}, &family);
  verb.add_option("--repeats", arguments->repeats, "timed rounds over all cases")->check(at_least(1));
  verb.add_option("--workers", arguments->workers, "loader threads of the throughput; 0: one a core");
}

}  // namespace larmor::app
