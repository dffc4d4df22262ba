// A stage and a task that do what others do: tests derive from them what they want to be different.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "larmor/task/stage.h"

namespace larmor::testing {

class ForwardingTask : public Task {
 public:
  explicit ForwardingTask(std::unique_ptr<Task> inner) : inner_(std::move(inner)) {}

  std::vector<Objective> objectives() override { return inner_->objectives(); }
  bool is_active(const Objective& objective, const StepContext& context) const override {
    return inner_->is_active(objective, context);
  }
  std::vector<torch::nn::Module*> companions() override { return inner_->companions(); }
  void start() override { inner_->start(); }
  void prepare(const EachBatch& first, const StepContext& context) override {
    inner_->prepare(first, context);
  }
  int64_t counted() const override { return inner_->counted(); }
  at::Tensor counts(const Batch& batch) override { return inner_->counts(batch); }
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override {
    return inner_->losses(batch, context);
  }
  void validate(const Batch& batch, Metrics& metrics) override { inner_->validate(batch, metrics); }
  WholeBatchLoss* whole_batch_loss() override { return inner_->whole_batch_loss(); }
  void summarize(const CaseValues& cases, const CaseValues& reference, Metrics& metrics) override {
    inner_->summarize(cases, reference, metrics);
  }
  Prediction predict(const Batch& inputs, const PredictionContext& context) override {
    return inner_->predict(inputs, context);
  }
  void save(StateWriter& writer) const override { inner_->save(writer); }
  void load(const StateReader& reader, bool of_average) override { inner_->load(reader, of_average); }

 private:
  std::unique_ptr<Task> inner_;
};

class ForwardingStage : public Stage {
 public:
  explicit ForwardingStage(std::unique_ptr<const Stage> inner) : inner_(std::move(inner)) {}

  WorkloadFields fields() override { return {}; }  // they have been read
  void check(const RunConfig& config) const override { inner_->check(config); }
  Demand demand(const RunConfig& config, const Index& index) const override {
    return inner_->demand(config, index);
  }
  std::unique_ptr<Dataset> dataset(const RunConfig& config, const Index& index, Split split) const override {
    return inner_->dataset(config, index, split);
  }
  ExampleOrder order(const RunConfig& config, const Index& index, const Dataset& cases) const override {
    return inner_->order(config, index, cases);
  }
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override {
    return inner_->task(config, index);
  }
  PredictionForm prediction(const RunConfig& config) const override { return inner_->prediction(config); }

 private:
  std::unique_ptr<const Stage> inner_;
};

}  // namespace larmor::testing
