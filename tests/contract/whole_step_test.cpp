// A task that asks the loop for all it can give (a frozen companion, a scale factor from the first global
// batch, losses normalised over the step, two groups of parameters) trains as a loop written by hand, however
// the step is divided.
#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "larmor/base/text.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/device/initialisation.h"
#include "larmor/device/run_block.h"
#include "larmor/run/run_setup.h"

#include "tests/contract/by_hand.h"
#include "tests/contract/forwarding_stage.h"
#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

constexpr int64_t ragged_steps = 5;
constexpr double encoder_rate = 0.1, encoder_decay = 0.02;

torch::nn::Conv3d convolution(int64_t in, int64_t out) {
  return torch::nn::Conv3d(torch::nn::Conv3dOptions(in, out, 3).padding(1));
}

/// Rebuilds a volume, and has two heads that say something of it.
struct RaggedNetImpl final : torch::nn::Module {
  RaggedNetImpl() {
    const SeededInitialisation initialisation(11);
    encoder = register_module("encoder", convolution(1, 4));
    decoder = register_module("decoder", convolution(4, 1));
    heads = register_module("heads", torch::nn::Linear(4, 2));
  }
  struct Outputs {
    at::Tensor rebuilt, said;  // [N, 1, D, H, W], [N, 2]
  };
  Outputs forward(const at::Tensor& image) {
    const auto maps = nn::run_block(encoder, image).relu();
    return {nn::run_block(decoder, maps), nn::run_block(heads, maps.mean({2, 3, 4}))};
  }
  torch::nn::Conv3d encoder{nullptr}, decoder{nullptr};
  torch::nn::Linear heads{nullptr};
};
TORCH_MODULE(RaggedNet);

torch::nn::Conv3d companion_network() {
  const SeededInitialisation initialisation(12);
  return convolution(1, 2);
}

at::Tensor mask_of(const at::Tensor& image) { return image > 0.3; }

/// Two of three examples belong to the first head.
at::Tensor belongs_to_first(const Batch& batch, const at::Tensor& like) {
  std::vector<double> first;
  for (const auto& key : batch.keys) first.push_back(key.example % 3 == 0 ? 0.0 : 1.0);
  if (like.is_meta()) return at::empty({batch.size()}, like.options());
  return at::tensor(first, like.options());
}

/// Examples of either head, and voxels in the mask.
at::Tensor counts_of(const Batch& batch) {
  const auto& image = batch.at("image");
  const auto first = belongs_to_first(batch, image).sum();
  return at::stack(
      {first, static_cast<double>(batch.size()) - first, mask_of(image).sum().to(first.dtype())});
}

/// Parts of the sum over the step: what either head is off by, over its examples, and what the volume is off
/// by, over the mask. The companion's maps, scaled, are what the heads have to say.
at::Tensor ragged_loss(RaggedNet& network, torch::nn::Conv3d& companion, double scale, const Batch& batch,
                       const at::Tensor& counts, const StepContext& context) {
  const auto& image = batch.at("image");
  const auto target = companion(image).mean({2, 3, 4}) * scale;
  const auto outputs = network(image);
  const auto first = belongs_to_first(batch, image);
  const auto off = (outputs.said - target).square();
  const auto mask = mask_of(image).to(image.scalar_type());
  const auto of_first = (off.select(1, 0) * first).sum(), of_second = (off.select(1, 1) * (1 - first)).sum();
  const auto masked = ((outputs.rebuilt - image).square() * mask).sum();
  context.record_ratio("first", of_first, first.sum());
  return of_first / counts[0] + of_second / counts[1] + masked / counts[2];
}

class RaggedTask final : public ForwardingTask {
 public:
  explicit RaggedTask(std::unique_ptr<Task> inner) : ForwardingTask(std::move(inner)) {}

  std::vector<Objective> objectives() override {
    return {{.name = "generator",
             .network = network_.get(),
             .rules = {{.prefix = "encoder.", .rate = encoder_rate, .weight_decay = encoder_decay}}}};
  }
  bool is_active(const Objective&, const StepContext&) const override { return true; }
  std::vector<torch::nn::Module*> companions() override { return {companion_.get()}; }
  void start() override {}
  void prepare(const EachBatch& first, const StepContext& context) override {
    EXPECT_FALSE(network_->is_training());
    EXPECT_FALSE(at::GradMode::is_enabled());
    auto sums = at::zeros({3}, at::kDouble);
    first([&](const Batch& batch) {
      const auto maps = companion_(batch.at("image")).to(at::kDouble);
      sums += at::stack({maps.sum(), maps.square().sum(), at::scalar_tensor(maps.numel(), at::kDouble)});
    });
    sums = context.sum_over_ranks(sums);
    const double mean = (sums[0] / sums[2]).item<double>();
    scale_ = 1 / std::sqrt((sums[1] / sums[2]).item<double>() - mean * mean);
  }
  int64_t counted() const override { return 3; }
  at::Tensor counts(const Batch& batch) override { return counts_of(batch); }
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override {
    EXPECT_FALSE(companion_->is_training());
    return {ragged_loss(network_, companion_, scale_, batch, context.counts, context)};
  }
  void validate(const Batch& batch, Metrics& metrics) override {
    const auto off = (network_(batch.at("image")).rebuilt - batch.at("image")).square().mean().item<double>();
    for (const auto& key : batch.keys) metrics.value("loss", key.example, off);
  }
  void summarize(const CaseValues&, const CaseValues&, Metrics&) override {}
  void save(StateWriter& writer) const override { writer.value("scale", scale_); }
  void load(const StateReader& reader, bool) override { scale_ = reader.value("scale").get<double>(); }

 private:
  RaggedNet network_;
  torch::nn::Conv3d companion_ = companion_network();
  double scale_ = 0;
};

class RaggedStage final : public ForwardingStage {
 public:
  explicit RaggedStage(std::unique_ptr<const Stage> inner) : ForwardingStage(std::move(inner)) {}
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override {
    return std::make_unique<RaggedTask>(ForwardingStage::task(config, index));
  }
};

PlainTraining ragged_training(bool in_doubles) {
  return {.batch = 16, .steps = ragged_steps, .rate = 0.01, .in_doubles = in_doubles};
}

std::vector<std::string> ragged_words(bool in_doubles, const std::string& strategy, int64_t accumulation) {
  return ragged_training(in_doubles).words(strategy, accumulation);
}

class RaggedRun final : public TrialRun {
 public:
  explicit RaggedRun(const std::vector<std::string>& words) : TrialRun("latent_diffusion", words) {
    change_stage([](auto inner) { return std::make_unique<RaggedStage>(std::move(inner)); });
  }
};

double scale_of(const TrialRun& run) {
  const auto entry = newest_good(run.folder().checkpoints(), nullptr).value();
  return read_checkpoint_state(entry).at("task").at("scale").get<double>();
}

struct Plainly {
  NamedTensors weights;
  double scale = 0;
};

/// The same training without the loop: whole batches, libtorch's optimizers, and nothing of `train` but what
/// reads an example.
Plainly train_by_hand(const TrialRun& run, bool in_doubles) {
  const auto workload = workload_named("latent_diffusion");
  const auto loaded = load_run_stage(run.folder(), workload);
  const auto index = index_from_json(read_json(run.folder().index()));
  const auto training = ragged_training(in_doubles);
  const auto type = training.type();
  const WholeBatches batches(loaded, index, training);
  RaggedNet network;
  auto companion = companion_network();
  network->to(type);
  companion->to(type);
  std::vector<at::Tensor> encoder = network->encoder->parameters(), others = network->decoder->parameters();
  for (const auto& parameter : network->heads->parameters()) others.push_back(parameter);
  const auto slowly = training.optimizer(encoder, encoder_rate, encoder_decay),
             fast = training.optimizer(others);
  Plainly result;
  for (int64_t step = 0; step < ragged_steps; ++step) {
    const auto batch = batches.of_step(step);
    if (step == 0) {
      const at::NoGradGuard no_gradients;
      result.scale = 1 / companion(batch.at("image")).std(/*unbiased=*/false).item<double>();
    }
    network->zero_grad();
    ragged_loss(network, companion, result.scale, batch, counts_of(batch), {}).backward();
    slowly->step();
    fast->step();
  }
  for (const auto& item : network->named_parameters()) result.weights[item.key()] = item.value().detach();
  return result;
}

class EveryDivision : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(By, EveryDivision, ::testing::Values("ddp", "zero1", "zero2", "zero3"),
                         [](const auto& of) { return of.param; });

TEST_P(EveryDivision, OfAStepTrainsRaggedHeadsAndMasksAsALoopWrittenByHand) {
  for (const bool in_doubles : {false, true}) {
    std::optional<Plainly> plain;
    for (const int ranks : {1, 2, 4}) {
      for (const int64_t accumulation : {1, 2, 4}) {
        RaggedRun run(ragged_words(in_doubles, GetParam(), accumulation));
        run.train(ranks);
        if (!plain) plain = train_by_hand(run, in_doubles);
        const auto what = text(ranks, " ranks, accumulation ", accumulation);
        EXPECT_LE(largest_difference(run.tensors("model.safetensors"), plain->weights),
                  in_doubles ? 1e-11 : 1e-6)
            << what;
        EXPECT_NEAR(scale_of(run), plain->scale, plain->scale * (in_doubles ? 1e-12 : 1e-5)) << what;
        EXPECT_EQ(run.weight_files(), std::vector<std::string>{"model.safetensors"})
            << "a companion is saved";
      }
    }
  }
}

TEST(WholeStep, GoesOnAfterAStopWithTheSameBitsAndTheScaleOfItsStart) {
  const auto words = ragged_words(/*in_doubles=*/false, "ddp", 2);
  RaggedRun whole(words);
  whole.train(2);
  for (int64_t stop = 1; stop < ragged_steps; ++stop) {
    RaggedRun parts(words);
    parts.train(2, stop);
    parts.train(2);
    EXPECT_EQ(parts.hashes(), whole.hashes()) << "stopped at step " << stop;
    EXPECT_EQ(parts.logged_steps(), whole.logged_steps()) << "stopped at step " << stop;
  }
}

/// With four ranks of one example each, some have none of the first head's.
TEST(WholeStep, LogsRatiosThatDoNotDependOnTheDivision) {
  const auto first_of = [](const TrialRun& run) {
    std::vector<double> values;
    for (const auto& line : run.logged_steps())
      values.push_back(parse_json(line.substr(line.find('{')), "a step").at("train/first").get<double>());
    return values;
  };
  RaggedRun alone(ragged_words(true, "ddp", 1)), divided(ragged_words(true, "ddp", 4));
  alone.train(1);
  divided.train(4);
  const auto expected = first_of(alone), values = first_of(divided);
  ASSERT_EQ(values.size(), static_cast<size_t>(ragged_steps));
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], 1e-9 * std::abs(expected[i]));
}

}  // namespace
}  // namespace larmor::testing
