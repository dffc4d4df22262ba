#include "tests/contract/by_hand.h"

#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

#include "larmor/base/text.h"
#include "larmor/judge/checked_dataset.h"

namespace larmor::testing {

std::vector<std::string> PlainTraining::words(const std::string& strategy, int64_t accumulation) const {
  return {text("train.length=", steps, "st"),
          "train.validate_every=0",
          text("train.global_batch=", batch),
          text("train.accumulation=", accumulation),
          text("optim.learning_rate=", rate),
          in_doubles ? "optim.name=adam" : "optim.name=sgd",
          in_doubles ? "train.precision=fp64" : "train.precision=fp32",
          "optim.weight_decay=0",
          "optim.clip_norm=0",
          "optim.betas=[0.9, 0.999]",
          "optim.schedule.name=constant",
          "optim.schedule.warmup=0",
          "parallel.strategy=" + strategy};
}

std::unique_ptr<torch::optim::Optimizer> PlainTraining::optimizer(const std::vector<at::Tensor>& parameters,
                                                                  double rate_factor,
                                                                  double weight_decay) const {
  if (in_doubles)
    return std::make_unique<torch::optim::Adam>(
        parameters, torch::optim::AdamOptions(rate * rate_factor).weight_decay(weight_decay));
  return std::make_unique<torch::optim::SGD>(
      parameters, torch::optim::SGDOptions(rate * rate_factor).weight_decay(weight_decay));
}

WholeBatches::WholeBatches(const LoadedStage& loaded, const Index& index, const PlainTraining& training)
    : cases_(checked_dataset(*loaded.stage, loaded.config.config, index, Split::train)),
      order_(loaded.stage->order(loaded.config.config, index, *cases_)),
      training_(training) {}

Batch WholeBatches::of_step(int64_t step) const {
  std::vector<Sample> samples;
  std::vector<ExampleKey> keys;
  for (int64_t row = 0; row < training_.batch; ++row) {
    keys.push_back(order_.at(step * training_.batch + row));
    samples.push_back(cases_->get(keys.back()));
  }
  auto batch = collate(samples, keys);
  for (auto& [name, tensor] : batch.tensors) {
    if (tensor.is_floating_point()) tensor = tensor.to(training_.type());
  }
  return batch;
}

}  // namespace larmor::testing
