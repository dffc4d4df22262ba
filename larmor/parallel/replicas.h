// Every rank holds the whole model; gradients are averaged. One rank is the simplest case of it.
#pragma once

#include <memory>
#include <optional>

#include "larmor/optim/ema.h"
#include "larmor/optim/loss_scale.h"
#include "larmor/optim/optimizer.h"
#include "larmor/parallel/gradient_exchange.h"
#include "larmor/parallel/parallelism.h"

namespace larmor {

class Replicas final : public Parallelism {
 public:
  /// `traits` are those of learning_parameters(). Borrows the module and the communicator. Collective: rank
  /// 0's weights and buffers win.
  Replicas(const Plan& plan, const OptimConfig& optim, const std::vector<ParameterTraits>& traits,
           torch::nn::Module& module, Communicator& communicator);

  void backward(const at::Tensor& loss, bool last, const Votes& votes) override;
  void receive(const std::vector<at::Tensor>& gradients, bool last, const Votes& votes) override {
    exchange_->receive(gradients, last, votes);
  }
  bool fail_step(const Votes& votes) override {
    exchange_->fail_step(votes);
    return true;
  }
  at::Tensor reduce() override;
  Reduced read_reduced(const at::Tensor& numbers) override;
  void step(double learning_rate) override;
  void skip() override;
  void forget() override { exchange_->drop(); }
  void share_buffers() override;
  void check_replicas() override;
  double loss_scale() const override { return scale_.scale(); }
  bool has_average() const override { return average_.has_value(); }
  NamedTensors weights() override;
  NamedTensors average() override;
  void load_weights(const NamedTensors& weights) override;
  void use_average() override { average_->apply_to(parameters_); }
  void use_live() override { average_->restore(parameters_); }
  void save(StateWriter& writer) const override;
  void load(const StateReader& reader) override;

 private:
  torch::nn::Module& module_;
  Communicator& communicator_;
  std::vector<StateKind> state_kinds_;
  double clip_norm_;
  int64_t bucket_bytes_;
  std::vector<std::string> names_;  // of the parameters that learn
  std::vector<at::Tensor> parameters_;
  std::unique_ptr<GradientExchange> exchange_;
  std::unique_ptr<Optimizer> optimizer_;
  LossScale scale_;
  std::optional<Ema> average_;
  at::Tensor norm_;  // of the gradients as they are, loss scale included
  double norm_on_host_ = 0;
};

}  // namespace larmor
