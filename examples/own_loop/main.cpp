// Larmor's parts in a loop of one's own: invented heads, any torch module, as many ranks as asked for.
//   own_loop [RANKS]
#include <larmor/larmor.h>
#include <torch/nn.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "larmor/base/process.h"

namespace {

// One rank's work: a small convolution learns to blur.
void train(const larmor::Plan& plan, const larmor::Rank& rank) {
  const auto communicator = larmor::connect(rank, {});
  larmor::DataConfig data;
  data.kind = "phantom";
  data.phantom_cases = 8;
  data.phantom_size = {16, 16, 16};
  const auto index = larmor::make_index(data, /*seed=*/1);
  const auto transforms = larmor::parse_json(R"([{"ScaleIntensityRangePercentiles":
      {"lower": 0, "upper": 100, "b_min": 0, "b_max": 1}}])", "own_loop");
  const auto heads = larmor::make_volume_dataset(data, index, larmor::Split::train, transforms, /*keep=*/true);
  larmor::Loader loader(*heads, larmor::ExampleOrder(/*seed=*/1, heads->size()),
                        {.global_batch = plan.global_batch, .micro_batch = plan.micro_batch, .accumulation = plan.accumulation,
                         .rank = rank.index, .ranks = rank.count},
                        /*consumed=*/0, {.workers = 1});

  torch::nn::Conv3d network(torch::nn::Conv3dOptions(1, 1, 3).padding(1));
  larmor::OptimConfig optim;
  optim.learning_rate = 1e-2;
  const auto parallel = larmor::make_parallelism(plan, optim, *network, *communicator);
  for (int step = 0; step < 20; ++step) {
    const auto batch = loader.next();
    const auto image = batch.at("image");
    const auto wanted = torch::avg_pool3d(image, 3, 1, 1);
    const auto loss = (network(image) - wanted).square().mean();
    parallel->backward(loss, /*last=*/true, {});
    parallel->finish();
    parallel->step(optim.learning_rate);
    // Only rank 0 holds the launcher's terminal; everybody's own stderr is a log file.
    if (rank.console_error >= 0 && step % 5 == 4) {
      dprintf(rank.console_error, "step %d  loss %.5f\n", step + 1, loss.item<double>());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    larmor::RunConfig config;
    config.parallel.ranks = argc > 1 ? argv[1] : "1";
    config.parallel.device = "cpu";
    larmor::Demand demand;
    demand.training_examples = 8;
    const auto plan = larmor::make_plan(larmor::detect_hardware(), demand, config);
    if (const auto rank = larmor::find_rank(larmor::process_environment())) {
      train(plan, *rank);
      return 0;
    }
    larmor::LaunchOptions options;
    options.program = larmor::own_program();
    options.arguments = {config.parallel.ranks};
    options.log_folder = "own_loop_log";
    const auto end = larmor::run_ranks(plan, options);
    if (end.exit != larmor::Exit::done) std::fprintf(stderr, "%s\n%s", end.message.c_str(), end.last_lines.c_str());
    return end.raw_status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "own_loop: %s\n", error.what());
    return 1;
  }
}
