#include "tests/measure/support/memory_case.h"

#include <ostream>
#include <utility>

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include "larmor/comm/communicator.h"
#include "larmor/config/run_config.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/initialisation.h"
#include "larmor/device/memory/memory_meter.h"
#include "larmor/device/run_block.h"
#include "larmor/kernels/draw/draw.h"
#include "larmor/nn/losses/losses.h"
#include "larmor/nn/networks/autoencoder_kl/autoencoder_kl.h"
#include "larmor/nn/networks/patch_discriminator.h"
#include "larmor/nn/networks/resnet.h"
#include "larmor/parallel/parallelism.h"
#include "larmor/task/batch_device.h"

namespace larmor::testing {
namespace {

/// An autoencoder, with a discriminator where there is one.
class RebuildingTask final : public Task {
 public:
  RebuildingTask(const nn::AutoencoderKlOptions& options, bool adversarial) : autoencoder_(options) {
    if (!adversarial) return;
    nn::PatchDiscriminatorOptions critic;
    critic.in_channels = options.out_channels;
    critic.channels = 8;
    critic.num_layers_d = 1;
    discriminator_ = nn::PatchDiscriminator(critic);
  }

  std::vector<Objective> objectives() override {
    std::vector<Objective> all{{"generator", autoencoder_.get()}};
    if (discriminator_) all.push_back({"discriminator", discriminator_.get()});
    return all;
  }

  std::vector<at::Tensor> losses(const Batch& batch, const StepContext&) override {
    const auto& image = batch.at("image");
    const auto noise =
        draw_normal_like(at::empty(autoencoder_->latent_shape(image.sizes()), image.options()), "posterior");
    const auto output = autoencoder_->forward(image, noise);
    auto total =
        (output.reconstruction - image).abs().mean() + nn::kl_divergence(output.mean, output.sigma, 0);
    if (!discriminator_) return {total};
    {
      const nn::Frozen frozen(*discriminator_);
      total = total + nn::adversarial_least_squares(discriminator_(output.reconstruction).back(), true);
    }
    const auto fake = discriminator_(output.reconstruction.detach()).back();
    const auto real = discriminator_(image).back();
    return {total, nn::adversarial_least_squares(fake, false) + nn::adversarial_least_squares(real, true)};
  }

  void validate(const Batch&, Metrics&) override {}

 private:
  nn::AutoencoderKl autoencoder_;
  nn::PatchDiscriminator discriminator_{nullptr};
};

/// A ResNet whose loss is one of the whole batch.
class RankingTask final : public Task, private WholeBatchLoss {
 public:
  explicit RankingTask(const nn::ResNetOptions& options) : network_(options) {}

  std::vector<Objective> objectives() override { return {{"risk", network_.get()}}; }
  std::vector<at::Tensor> losses(const Batch&, const StepContext&) override { return {}; }
  WholeBatchLoss* whole_batch_loss() override { return this; }
  void validate(const Batch&, Metrics&) override {}

 private:
  at::Tensor rows(const Batch& batch, const StepContext&) override {
    return network_(batch.at("image")).squeeze(1);
  }
  at::Tensor targets(const Batch& batch) override { return at::zeros({batch.size()}); }
  at::Tensor loss(const at::Tensor& rows, const at::Tensor& targets, const StepContext&) override {
    return (rows - targets).square().mean();
  }

  nn::ResNet network_;
};

nn::AutoencoderKlOptions autoencoder_of(CaseSize size) {
  nn::AutoencoderKlOptions options;
  options.channels = size == CaseSize::tiny ? std::vector<int64_t>{8, 16} : std::vector<int64_t>{32, 64};
  options.num_res_blocks = {2};
  options.attention_levels = {false, false};
  options.norm_num_groups = 4;
  options.latent_channels = 3;
  return options;
}

nn::ResNetOptions resnet_of(CaseSize size) {
  nn::ResNetOptions options;
  options.depth = 10;
  options.widen_factor = size == CaseSize::tiny ? 0.25 : 0.375;
  options.norm_num_groups = 4;
  options.conv1_t_size = {size == CaseSize::tiny ? 3 : 5};
  return options;
}

class CaseList {
 public:
  void rebuild(const std::string& name, const nn::AutoencoderKlOptions& options, std::vector<int64_t> image,
               bool adversarial = false) {
    const auto make = [options, adversarial] {
      return std::make_unique<RebuildingTask>(options, adversarial);
    };
    add(name, make, std::move(image));
  }
  void rank(const std::string& name, const nn::ResNetOptions& options, std::vector<int64_t> image) {
    add(name, [options] { return std::make_unique<RankingTask>(options); }, std::move(image));
  }
  std::vector<MemoryCase> take() { return std::move(cases_); }

 private:
  void add(const std::string& name, const std::function<std::unique_ptr<Task>()>& make,
           std::vector<int64_t> image) {
    for (const auto& [how, recompute] : {std::pair{"KeepsAll", Recompute::none},
                                         {"RecomputesBlocks", Recompute::blocks},
                                         {"RecomputesAll", Recompute::all}})
      cases_.push_back({name + how, make, image, recompute});
  }

  std::vector<MemoryCase> cases_;
};

/// The usual ones are flat: many voxels in a plane, few planes.
void add_autoencoders(CaseSize size, CaseList& cases) {
  const bool tiny = size == CaseSize::tiny;
  using Shape = std::vector<int64_t>;
  auto options = autoencoder_of(size);
  cases.rebuild("Autoencoder", options, tiny ? Shape{1, 16, 16, 16} : Shape{1, 40, 40, 2});
  cases.rebuild("AutoencoderOnAnOblongCrop", options, tiny ? Shape{1, 8, 20, 28} : Shape{1, 64, 30, 2});
  if (!tiny) options.channels = {16, 32};
  cases.rebuild("AutoencoderWithACritic", options, tiny ? Shape{1, 16, 16, 16} : Shape{1, 56, 48, 6},
                /*adversarial=*/true);
  options = autoencoder_of(size);
  options.attention_levels = {false, true};
  cases.rebuild("AutoencoderWithAttention", options, tiny ? Shape{1, 12, 12, 12} : Shape{1, 48, 32, 2});
  options.with_encoder_nonlocal_attn = options.with_decoder_nonlocal_attn = true;
  options.in_channels = options.out_channels = 2;
  cases.rebuild("AutoencoderWithAttentionAtItsWaist", options,
                tiny ? Shape{2, 12, 8, 12} : Shape{2, 32, 44, 2});
  options = autoencoder_of(size);
  options.channels = tiny ? Shape{8, 8, 12} : Shape{16, 48, 80};
  options.num_res_blocks = {1, 2, 3};
  options.attention_levels = {false, false, false};
  options.norm_num_groups = 1;
  cases.rebuild("AutoencoderOfThreeLevels", options, tiny ? Shape{1, 16, 24, 16} : Shape{1, 48, 56, 4});
}

void add_resnets(CaseSize size, CaseList& cases) {
  const bool tiny = size == CaseSize::tiny;
  using Shape = std::vector<int64_t>;
  auto options = resnet_of(size);
  cases.rank("ResNetWithBatchNorm", options, tiny ? Shape{1, 24, 24, 24} : Shape{1, 64, 48, 16});
  options.norm = nn::ResNetNorm::group;
  options.no_max_pool = true;
  cases.rank("ResNetWithGroupNorm", options, tiny ? Shape{1, 16, 16, 16} : Shape{1, 40, 32, 8});
  options = resnet_of(size);
  options.norm = nn::ResNetNorm::instance;
  options.shortcut_type = nn::ResNetShortcut::zero_padding;
  cases.rank("ResNetWithInstanceNorm", options, tiny ? Shape{1, 32, 20, 40} : Shape{1, 56, 64, 16});
  options = resnet_of(size);
  options.n_input_channels = 3;
  options.conv1_t_size = {7, 5, 5};
  options.conv1_t_stride = {2, 1, 2};
  options.depth = 18;
  cases.rank("ResNetOfThreeChannels", options, tiny ? Shape{3, 40, 24, 40} : Shape{3, 88, 40, 32});
  options = resnet_of(size);
  options.depth = 50;
  options.norm = nn::ResNetNorm::group;
  cases.rank("ResNetWithBottlenecks", options, tiny ? Shape{1, 24, 24, 24} : Shape{1, 48, 40, 16});
}

Batch random_batch(const MemoryCase& which, int64_t samples) {
  std::vector<int64_t> shape{samples};
  shape.insert(shape.end(), which.image.begin(), which.image.end());
  Batch batch;
  batch.tensors["image"] = draw_normal(1, "image", shape);
  for (int64_t row = 0; row < samples; ++row) batch.keys.push_back({.seed = 1, .epoch = 0, .example = row});
  return batch;
}

/// What a step sends backward: its losses, or its rows.
std::vector<at::Tensor> forward(Task& task, const Batch& batch) {
  StepContext context;
  context.record = [](const std::string&, const at::Tensor&) {};
  auto* const whole = task.whole_batch_loss();
  return whole != nullptr ? std::vector<at::Tensor>{whole->rows(batch, context)}
                          : task.losses(batch, context);
}

/// One rank that trains a task, as the trainer would.
class LoneRank {
 public:
  explicit LoneRank(const MemoryCase& which) : recompute_(which.recompute), communicator_(make_solo()) {
    {
      const SeededInitialisation seeded(1);
      task_ = which.make_task();
    }
    Plan plan;
    plan.ranks.resize(1);
    for (const auto& objective : task_->objectives())
      learners_.push_back(make_parallelism(plan, OptimConfig{}, *objective.network, *communicator_));
  }

  MeasuredCase step(const Batch& batch) {
    MeasuredCase measured;
    measured.step.micro_batch = batch.size();
    const auto before = metered_memory().held;
    reset_metered_peak();
    backward(batch, measured.held);
    measured.step.before = before;
    measured.step.backward_peak = metered_memory().peak;
    reset_metered_peak();
    for (auto& learner : learners_) {
      learner->finish();
      learner->step(/*learning_rate=*/1e-4);
    }
    measured.step.update_peak = metered_memory().peak;
    return measured;
  }

 private:
  void backward(const Batch& batch, int64_t& held) {
    const auto before = metered_memory().held;
    const DrawScope draws(draw_position_of(batch));
    const RecomputeScope recompute(recompute_);
    auto results = forward(*task_, batch);
    held = metered_memory().held - before;
    for (std::size_t i = 0; i < learners_.size(); ++i) {
      const auto loss = results[i].dim() == 0 ? results[i] : results[i].sum();
      learners_[i]->backward(loss, /*last=*/true, {});
    }
  }

  Recompute recompute_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<Communicator> communicator_;
  std::vector<std::unique_ptr<Parallelism>> learners_;
};

}  // namespace

void PrintTo(const MemoryCase& which, std::ostream* out) { *out << which.name; }

Sample MemoryCase::example() const { return {{"image", at::empty(image, at::kMeta)}}; }

std::vector<MemoryCase> memory_cases(CaseSize size) {
  CaseList cases;
  add_autoencoders(size, cases);
  add_resnets(size, cases);
  return cases.take();
}

MemoryCase small_memory_case(Recompute recompute) {
  return memory_cases(CaseSize::tiny)[static_cast<std::size_t>(recompute)];
}

std::vector<MeasuredCase> measure(const MemoryCase& which, const std::vector<int64_t>& samples) {
  start_memory_meter();
  LoneRank rank(which);
  rank.step(random_batch(which, samples.front()));
  std::vector<MeasuredCase> measured;
  for (const int64_t count : samples) measured.push_back(rank.step(random_batch(which, count)));
  return measured;
}

}  // namespace larmor::testing
