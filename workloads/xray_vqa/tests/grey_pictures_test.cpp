// A data set that cannot be learnt from pictures: all are the same grey, and scenes give the answers away.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/text.h"
#include "larmor/comm/communicator.h"
#include "larmor/device/draw_position.h"
#include "larmor/judge/validation.h"
#include "larmor/optim/optimizer.h"
#include "larmor/run/loaded_stage.h"
#include "larmor/task/prediction.h"

#include "workloads/xray_vqa/tests/made_up_mimic.h"
#include "workloads/xray_vqa/workload.h"

namespace larmor::xray_vqa {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int64_t batch_size = 16;

DrawPosition position_of(const Batch& batch) {
  DrawPosition position{.seed = 1, .epochs = {}, .examples = {}};
  for (const ExampleKey& key : batch.keys) {
    position.epochs.push_back(key.epoch);
    position.examples.push_back(key.example);
  }
  return position;
}

class GreyPictures : public ::testing::Test {
 protected:
  GreyPictures() {
    write_grey_mimic(scratch_.path(), /*patients=*/80);
    const char* const source = std::getenv("LARMOR_SOURCE");
    const fs::path configs = (source != nullptr ? fs::path(source) : fs::current_path()) / "workloads" /
                             "xray_vqa" / "pretrain" / "configs";
    const std::string folder = scratch_.path().string();
    loaded_ = load_stage({.files = {configs / "default.yaml", configs / "tiny.yaml"},
                          .environment = {},
                          .overrides = {"data.kind=mimic_cxr", text("data.folder=", folder, "/cxr"),
                                        text("data.questions=", folder, "/qa_set"), "data.split={}",
                                        text("data.vocabulary=", folder, "/vocab.txt"),
                                        text("data.cache_folder=", folder, "/cache")}},
                         make_workload(), "pretrain");
    index_ = loaded_.stage->index(config());
    task_ = loaded_.stage->task(config(), index_);
  }

  const RunConfig& config() const { return loaded_.config.config; }

  Batch batch_at(const Dataset& dataset, int64_t step) const {
    std::vector<Sample> samples;
    std::vector<ExampleKey> keys;
    for (int64_t row = 0; row < batch_size; ++row) {
      keys.push_back({.seed = 1, .epoch = step, .example = (step * batch_size + row) % dataset.size()});
      samples.push_back(dataset.get(keys.back()));
    }
    return collate(samples, keys);
  }

  void train(int64_t steps) {
    const auto dataset = loaded_.stage->dataset(config(), index_, Split::train);
    torch::nn::Module& network = *task_->objectives()[0].network;
    network.train();
    std::vector<at::Tensor> learning;
    for (const at::Tensor& parameter : network.parameters()) learning.push_back(parameter);
    const auto optimizer = make_optimizer(config().optim, learning);
    for (int64_t step = 0; step < steps; ++step) {
      const Batch batch = batch_at(*dataset, step);
      const DrawScope draws(position_of(batch));
      StepContext context;
      context.counts = task_->counts(batch);
      const at::Tensor loss = task_->losses(batch, context)[0];
      for (const at::Tensor& parameter : learning) parameter.mutable_grad().reset();
      loss.backward();
      constexpr double rate = 3e-3;
      optimizer->step(rate);
    }
    network.eval();
  }

  std::string answer_with(const std::string& objects) {
    PredictionContext context;
    context.texts = {{"question", "Where is the effusion?"}};
    if (!objects.empty()) context.texts["objects"] = objects;
    const Batch inputs{.tensors = {{"image", at::full({1, 1, 40, 20, 1}, 128.0)}}, .keys = {{}}};
    const at::NoGradGuard no_grad;
    return task_->predict(inputs, context).words.at(0).second;
  }

  LoadedStage loaded_;
  Index index_;
  std::unique_ptr<Task> task_;

 private:
  ScratchFolder scratch_;
};

TEST_F(GreyPictures, AreAnsweredByTheirScenesAloneAndJudgedWithoutThem) {
  train(/*steps=*/300);
  const auto cases = loaded_.stage->dataset(config(), index_, Split::val);
  const auto training = loaded_.stage->reference(config(), index_, ValidationDepth::full);
  const auto result =
      validate(*task_, *cases, *make_solo(), {.depth = ValidationDepth::full, .reference = training.get()});
  EXPECT_EQ(result.metrics.at("accuracy").mean, 1);
  const MetricResult& majority = result.metrics.at("accuracy_majority");
  EXPECT_GE(result.metrics.at("accuracy_without_scene").mean, majority.interval.value().first);
  EXPECT_LE(result.metrics.at("accuracy_without_scene").mean, majority.interval.value().second);
  ASSERT_EQ(result.remarks.size(), 1U);
  EXPECT_THAT(result.remarks[0], HasSubstr("16 of 16 questions were answered with the scene"));
  const auto alone = std::ranges::find(result.verdicts, "accuracy_without_scene", &Verdict::figure);
  ASSERT_NE(alone, result.verdicts.end());
  EXPECT_THAT(sentence_of(*alone), HasSubstr("nothing is known to have been learnt from the pictures"));

  EXPECT_EQ(answer_with(""), answer_with(R"({"objects": [{}]})")) << "predict sees the picture alone";
  for (const std::string lung : {"left lung", "right lung"})
    EXPECT_EQ(
        answer_with(text(R"({"objects": [{"entity": "pleural effusion", "region": ")", lung, R"("}]})")),
        lung);
}

}  // namespace
}  // namespace larmor::xray_vqa
