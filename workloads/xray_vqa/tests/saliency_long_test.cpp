// Where the activation of a network that has learnt for some minutes lies. It is told of four findings; of
// them the effusion alone is located, and so it alone is asserted.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <numbers>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/draw_position.h"
#include "larmor/optim/optimizer.h"
#include "larmor/run/loaded_stage.h"

#include "workloads/xray_vqa/data/phantom_questions.h"
#include "workloads/xray_vqa/data/xray_phantom.h"
#include "workloads/xray_vqa/training/saliency.h"
#include "workloads/xray_vqa/training/vqa_config.h"
#include "workloads/xray_vqa/workload.h"

namespace larmor::xray_vqa {
namespace {

namespace fs = std::filesystem;

constexpr int64_t steps = 2400, batch_size = 32;

LoadedStage load_synthetic() {
  const char* const source = std::getenv("LARMOR_SOURCE");
  const fs::path folder = (source != nullptr ? fs::path(source) : fs::current_path()) / "workloads" /
                          "xray_vqa" / "pretrain" / "configs";
  return load_stage({.files = {folder / "default.yaml", folder / "synthetic.yaml"},
                     .environment = {},
                     .overrides = {"optim.weight_decay=0.01", "data.phantom_cases=2400",
                                   "data.split={train: 0.9, val: 0.1, test: 0}"}},
                    make_workload(), "pretrain");
}

Batch batch_at(const Dataset& dataset, int64_t step) {
  std::vector<Sample> samples;
  std::vector<ExampleKey> keys;
  for (int64_t row = 0; row < batch_size; ++row) {
    // A stride without a common factor with the size goes through all examples before it repeats one.
    constexpr int64_t stride = 7919;
    keys.push_back({.seed = 1, .epoch = 0, .example = (step * batch_size + row) * stride % dataset.size()});
    samples.push_back(dataset.get(keys.back()));
  }
  return collate(samples, keys);
}

// The published schedule of `synthetic` in short: up for a fifth, down as a cosine.
double rate_at(int64_t step, double peak) {
  const double place = static_cast<double>(step) / static_cast<double>(steps), rise = 0.2;
  if (place < rise) return peak * (0.04 + 0.96 * place / rise);
  return peak * (1 + std::cos(std::numbers::pi * (place - rise) / (1 - rise))) / 2;
}

void train(const LoadedStage& loaded, Task& task, const Dataset& dataset) {
  torch::nn::Module& network = *task.objectives()[0].network;
  network.train();
  std::vector<at::Tensor> learning;
  for (const at::Tensor& parameter : network.parameters())
    if (parameter.requires_grad()) learning.push_back(parameter);
  const auto optimizer = make_optimizer(loaded.config.config.optim, learning);
  for (int64_t step = 0; step < steps; ++step) {
    const Batch batch = batch_at(dataset, step);
    const DrawScope draws({.seed = 1,
                           .epochs = std::vector<int64_t>(batch_size, step),
                           .examples = std::vector<int64_t>(batch_size, 0)});
    StepContext context;
    context.counts = task.counts(batch);
    const at::Tensor loss = task.losses(batch, context)[0];
    for (const at::Tensor& parameter : learning) parameter.mutable_grad().reset();
    loss.backward();
    optimizer->step(rate_at(step, loaded.config.config.optim.learning_rate));
    if (step % 400 == 0) std::cout << "step " << step << " loss " << loss.item<double>() << std::endl;
  }
}

// Where a finding is seen, among the pixels of a picture.
at::Tensor mask_of(const Box& box, int64_t size) {
  const at::Tensor mask = at::zeros({size, size}, at::kBool);
  const auto pixel = [size](float share) {
    return std::clamp<int64_t>(std::llround(share * static_cast<float>(size)), 0, size);
  };
  mask.slice(0, pixel(box.y1), std::max(pixel(box.y2), pixel(box.y1) + 1))
      .slice(1, pixel(box.x1), std::max(pixel(box.x2), pixel(box.x1) + 1))
      .fill_(true);
  return mask;
}

// A question that is answered with yes, and where its finding is seen.
struct AskedFinding {
  const char* type;
  const char* question;
  int64_t label;
};
constexpr int64_t effusion = 8;
constexpr AskedFinding asked_findings[] = {{"D02_has_finding", "Is there cardiomegaly?", 1},
                                           {"D02_has_finding", "Is there lung lesion?", 6},
                                           {"D02_has_finding", "Is there pleural effusion?", effusion},
                                           {"D02_has_finding", "Is there pneumothorax?", 10}};

struct Mass {
  double in_box = 0, area = 0;  // sums of shares
  int64_t present = 0, found = 0, hits = 0;

  double share() const { return in_box / static_cast<double>(found); }
  double share_of_area() const { return area / static_cast<double>(found); }
};

VqaInputs inputs_about(const PhantomTruth& truth, const AskedFinding& asked, const WordPiece& tokenizer,
                       const SampleSizes& sizes) {
  QuestionFacts facts;
  facts.question = asked.question;
  facts.type = find_question_type(asked.type);
  facts.objects = truth.anatomy;
  Sample made = sample_of(facts, tokenizer, sizes);
  const auto row = [&made](const char* name) { return made.at(name).unsqueeze(0); };
  return {.image = {},
          .tokens = row(sample::tokens),
          .tokens_mask = row(sample::tokens_mask),
          .boxes = row(sample::boxes),
          .regions = row(sample::regions),
          .entities = row(sample::entities),
          .objects_mask = row(sample::objects_mask)};
}

// Adds what the network goes by when it says that a finding is there, once, which it is.
void add_mass(VqaNetworkImpl& network, const VqaInputs& inputs, const at::Tensor& picture, const Box& box,
              Mass& mass) {
  const at::NoGradGuard no_gradient;
  ++mass.present;
  const at::Tensor map = network.map_of(picture);
  const at::Tensor states = network.states_of(inputs.tokens, inputs.tokens_mask);
  const at::Tensor logits = network.answer(map, states, inputs).answers[0][0];
  if (logits.argmax().item<int64_t>() != 1) return;
  const at::Tensor cells = class_activation(network, map, states, inputs, Head::binary, 1);
  const int64_t size = picture.size(2);
  const at::Tensor heat = at::upsample_bilinear2d(cells.view({1, 1, cells.size(0), cells.size(1)}),
                                                  {size, size}, /*align_corners=*/false)[0][0];
  if (heat.sum().item<double>() == 0) return;
  const at::Tensor mask = mask_of(box, size);
  ++mass.found;
  mass.in_box += (heat * mask).sum().item<double>() / heat.sum().item<double>();
  mass.area += mask.to(at::kDouble).mean().item<double>();
  if (mask.view(-1)[heat.argmax().item<int64_t>()].item<bool>()) ++mass.hits;
}

TEST(SaliencyOfATrainedNetwork, LiesInTheBoxOfAnEffusionThatWasAskedFor) {
  const LoadedStage loaded = load_synthetic();
  const RunConfig& config = loaded.config.config;
  const Index index = loaded.stage->index(config);
  const auto task = loaded.stage->task(config, index);
  train(loaded, *task, *loaded.stage->dataset(config, index, Split::train));
  auto& network = dynamic_cast<VqaNetworkImpl&>(*task->objectives()[0].network);
  network.eval();
  const WordPiece tokenizer(phantom_words());
  const SampleSizes sizes{.image = 64, .question = 16, .objects = 4};
  const auto seed = static_cast<uint64_t>(config.data.phantom_seed);
  for (const AskedFinding& asked : asked_findings) {
    Mass mass;
    constexpr int64_t held_out = 300;  // behind those of the config, trained or not
    for (int64_t number = config.data.phantom_cases; number < config.data.phantom_cases + held_out;
         ++number) {
      const PhantomTruth truth = phantom_truth(seed, number);
      if (truth.count(asked.label) != 1) continue;
      const at::Tensor picture = image_of_grey(make_xray(seed, number, sizes.image)).unsqueeze(0);
      for (const PhantomFinding& finding : truth.findings) {
        if (finding.label == asked.label)
          add_mass(network, inputs_about(truth, asked, tokenizer, sizes), picture, finding.box, mass);
      }
    }
    ASSERT_GT(mass.found, 20) << asked.question << " of " << mass.present;
    std::cout << asked.question << " found " << mass.found << " of " << mass.present << "; in the box "
              << mass.share() << " of the activation and " << mass.share_of_area()
              << " of the area; brightest pixel in it " << mass.hits << std::endl;
    if (asked.label == effusion) {
      EXPECT_GT(mass.share(), 1.3 * mass.share_of_area());
    }
  }
}

}  // namespace
}  // namespace larmor::xray_vqa
