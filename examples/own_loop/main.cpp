// Larmor's parts around a loop of one's own: on as many ranks as asked for, a convolution learns to blur
// heads, invented ones or those of a table, which then come through SmartCache.
//   own_loop [RANKS [LIST.csv]]
#include <cstdio>
#include <exception>

#include <larmor/larmor.h>
#include <torch/nn.h>

namespace {

constexpr int steps = 20;
constexpr uint64_t seed = 1;

/// What `larmor train` reads from a file is a plain struct here.
larmor::RunConfig configuration(const char* ranks, const char* list) {
  larmor::RunConfig config;
  if (list == nullptr) {
    config.data.kind = "phantom";  // invented heads
    config.data.phantom_cases = 8;
    config.data.phantom_size = {16, 16, 16};
  } else {
    config.data.kind = "list";  // a CSV with a column image
    config.data.list = list;
    config.data.split.by = "file";  // each image another patient's
    config.data.cache = "smart";  // half of them prepared at a time, half of those replaced after each epoch
  }
  config.data.transforms = larmor::parse_json(
      R"([{"ScaleIntensityRangePercentiles": {"lower": 0, "upper": 100, "b_min": 0, "b_max": 1}},
          {"Resize": {"spatial_size": [16, 16, 16], "mode": "area"}},
          {"RandFlip": {"prob": 0.5, "spatial_axis": 0}}])",
      "own_loop");
  config.optim.learning_rate = 1e-2;
  config.parallel.ranks = ranks;
  config.parallel.device = "cpu";
  return config;
}

/// One rank's work.
void train(const larmor::RunConfig& config, const larmor::Plan& plan, const larmor::Index& index,
           const larmor::Rank& rank) {
  const auto communicator = larmor::connect(rank, {});
  const auto heads =
      larmor::make_volume_dataset(config.data, index, larmor::Split::train, config.data.transforms);
  larmor::Loader loader(*heads, larmor::make_order(config.data, seed, *heads),
                        {.global_batch = plan.global_batch,
                         .micro_batch = plan.micro_batch,
                         .accumulation = plan.accumulation,
                         .rank = rank.index,
                         .ranks = rank.count},
                        /*consumed=*/0, {.workers = plan.loader_threads});
  torch::nn::Conv3d network(torch::nn::Conv3dOptions(1, 1, 3).padding(1));
  const auto parallel = larmor::make_parallelism(plan, config.optim, *network, *communicator);

  for (int step = 1; step <= steps; ++step) {
    double sum = 0;
    for (int64_t part = 1; part <= plan.accumulation; ++part) {
      const auto image = loader.next().at("image");  // [N, 1, X, Y, Z]
      const auto blurred = torch::avg_pool3d(image, /*kernel_size=*/3, /*stride=*/1, /*padding=*/1);
      const auto loss = torch::mse_loss(network(image), blurred) / plan.accumulation;
      parallel->backward(loss, /*last=*/part == plan.accumulation, {});
      sum += loss.item<double>();
    }
    if (parallel->finish().finite)
      parallel->step(config.optim.learning_rate);
    else
      parallel->skip();
    // Rank 0 holds the terminal; the stderr of every rank is its log file.
    if (rank.console_error >= 0 && step % 5 == 0)
      dprintf(rank.console_error, "step %d  loss %.5f\n", step, sum);
  }
}

/// The first process plans and starts the ranks, which run this program again and find themselves to be one.
int run(const char* ranks, const char* list) {
  const auto config = configuration(ranks, list);
  const auto index = larmor::make_index(config.data, seed);
  larmor::Demand demand;
  demand.training_examples = static_cast<int64_t>(index.of(larmor::Split::train).size());
  const auto plan = larmor::make_plan(larmor::detect_hardware(), demand, config);
  if (const auto rank = larmor::find_rank(larmor::process_environment())) {
    train(config, plan, index, *rank);
    return 0;
  }
  larmor::LaunchOptions options;
  options.program = larmor::own_program();
  options.arguments = {ranks};
  if (list != nullptr) options.arguments.emplace_back(list);
  options.log_folder = "own_loop_log";
  const auto end = larmor::run_ranks(plan, options);
  if (end.exit != larmor::Exit::done)
    std::fprintf(stderr, "%s\n%s", end.message.c_str(), end.last_lines.c_str());
  return end.raw_status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "1", argc > 2 ? argv[2] : nullptr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "own_loop: %s\n", error.what());
    return 1;
  }
}
