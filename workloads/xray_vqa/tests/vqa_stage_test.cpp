#include "workloads/xray_vqa/training/vqa_stage.h"

#include <set>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/draw_position.h"
#include "larmor/run/loaded_stage.h"

#include "workloads/xray_vqa/tests/pretrain_stage.h"

namespace larmor::xray_vqa {
namespace {

Batch batch_of(const LoadedStage& loaded, int64_t size) {
  const auto dataset =
      loaded.stage->dataset(loaded.config.config, loaded.stage->index(loaded.config.config), Split::train);
  std::vector<Sample> samples;
  std::vector<ExampleKey> keys;
  for (int64_t i = 0; i < size; ++i) {
    keys.push_back({.seed = 1, .epoch = 0, .example = i});
    samples.push_back(dataset->get(keys.back()));
  }
  return collate(samples, keys);
}

/// Names of the encoders that get a gradient at that epoch.
std::set<std::string> learning_encoders(const std::vector<std::string>& words, int64_t epoch) {
  const auto loaded = load_pretrain("tiny", words);
  loaded.stage->check(loaded.config.config);
  const auto task = loaded.stage->task(loaded.config.config, {});
  const Batch batch = batch_of(loaded, 4);
  const DrawScope draws({.seed = 1, .epochs = {0, 0, 0, 0}, .examples = {0, 1, 2, 3}});
  StepContext context;
  context.epoch = epoch;
  context.counts = task->counts(batch);
  task->losses(batch, context)[0].backward();
  std::set<std::string> learning;
  for (const auto& item : task->objectives()[0].network->named_parameters()) {
    if (!item.value().grad().defined()) continue;
    if (item.key().starts_with("visual_encoder.backbone.")) learning.insert("image");
    if (item.key().starts_with("text_encoder.")) learning.insert("text");
  }
  return learning;
}

TEST(VqaStage, LetsFrozenEncodersLearnWhenTheyThaw) {
  using Names = std::set<std::string>;
  EXPECT_EQ(learning_encoders({}, 0), (Names{"image", "text"}));
  EXPECT_EQ(learning_encoders({"model.frozen=[image]"}, 7), (Names{"text"}));
  EXPECT_EQ(learning_encoders({"model.frozen=[image, text]", "model.thaw_after=2"}, 1), Names{});
  EXPECT_EQ(learning_encoders({"model.frozen=[image, text]", "model.thaw_after=2"}, 2),
            (Names{"image", "text"}));
}

TEST(VqaStage, RefusesWhatCannotWork) {
  const auto without_questions = load_pretrain("default", {"data.kind=nifti"});
  EXPECT_THROW(without_questions.stage->check(without_questions.config.config), Error);
  const auto fine = load_pretrain("default", {"data.kind=phantom"});
  fine.stage->check(fine.config.config);
  for (const char* word : {"model.frozen=[picture]", "model.convnext.depths=[1]", "data.question_length=1000",
                           "model.interaction.heads=5"}) {
    const auto loaded = load_pretrain("default", {"data.kind=phantom", word});
    EXPECT_THROW(loaded.stage->check(loaded.config.config), Error) << word;
  }
}

/// Of so many GPUs with that much memory, under the guide.
Plan guide_plan(int gpus, double gigabytes) {
  const auto loaded = load_pretrain("default", {"plan.profile=guide", "train.global_batch=auto",
                                                "data.kind=phantom", "data.phantom_cases=20000"});
  Json json{{"cores", 48}, {"memory_bytes", int64_t{256} << 30}, {"gpus", Json::array()}};
  for (int gpu = 0; gpu < gpus; ++gpu)
    json["gpus"].push_back(
        {{"memory_bytes", static_cast<int64_t>(gigabytes * 1024) << 20}, {"capability", {8, 9}}});
  const auto& config = loaded.config.config;
  return make_plan(hardware_from_json(json), loaded.stage->demand(config, loaded.stage->index(config)),
                   config);
}

TEST(VqaStage, KeepsAnOptimizerOnTheHostThatHasTheBytesOfTheFormula) {
  const auto loaded = load_pretrain(
      "default", {"parallel.strategy=zero2", "parallel.offload=optimizer", "train.precision=bf16",
                  "train.accumulation=1", "data.kind=phantom", "data.phantom_cases=2000"});
  Json json{{"cores", 16}, {"memory_bytes", int64_t{256} << 30}, {"gpus", Json::array()}};
  for (int gpu = 0; gpu < 2; ++gpu)
    json["gpus"].push_back({{"memory_bytes", int64_t{40} << 30}, {"capability", {8, 9}}});
  const auto& config = loaded.config.config;
  const Demand demand = loaded.stage->demand(config, loaded.stage->index(config));
  const Plan plan = make_plan(hardware_from_json(json), demand, config);
  // A float32 master and Adam's two moments of every weight, half of them on each of two ranks.
  constexpr int64_t bytes_of_a_weight = 4 + 2 * 4;
  EXPECT_EQ(plan.memory.offloaded, demand.parameters * bytes_of_a_weight / 2);
  EXPECT_EQ(plan.memory.optimizer, 0);
}

TEST(VqaStage, IsPlannedByTheGuidesTable) {
  const Plan published = guide_plan(4, 24);
  EXPECT_EQ(published.micro_batch, 16);
  EXPECT_EQ(published.accumulation, 4);
  EXPECT_EQ(published.global_batch, 256);
  EXPECT_EQ(published.strategy, Strategy::zero2);
  EXPECT_EQ(published.recompute, Recompute::blocks);
  EXPECT_EQ(published.threads_per_rank, 3);
  EXPECT_EQ(published.loader_threads, 3);
  EXPECT_EQ(published.environment.at("PYTORCH_CUDA_ALLOC_CONF"), "max_split_size_mb:512");
  EXPECT_EQ(published.environment.at("NCCL_IB_DISABLE"), "1");
  const auto batch = [](const Plan& plan) { return text(plan.micro_batch, " x ", plan.accumulation); };
  EXPECT_EQ(batch(guide_plan(4, 16)), "12 x 5");
  EXPECT_EQ(batch(guide_plan(4, 12)), "8 x 8");
  EXPECT_EQ(batch(guide_plan(4, 8)), "4 x 16");
  EXPECT_EQ(batch(guide_plan(2, 24)), "16 x 8");
  EXPECT_EQ(batch(guide_plan(1, 24)), "16 x 16");
}

}  // namespace
}  // namespace larmor::xray_vqa
