// ZeRO: every rank computes with the whole network, and owns a part of what training it takes. ZeRO-1 cuts
// the optimizer's states, ZeRO-2 the gradients too, ZeRO-3 the weights as well. Numbers are those of
// replicas but for the order of sums.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "larmor/optim/loss_scale.h"
#include "larmor/parallel/gathered_blocks.h"
#include "larmor/parallel/parallelism.h"
#include "larmor/parallel/sharded_unit.h"

namespace larmor {

class Sharded final : public Parallelism {
 public:
  /// The same as make_parallelism(); `traits` are those of learning_parameters().
  Sharded(const Plan& plan, const OptimConfig& optim, const std::vector<ParameterTraits>& traits,
          torch::nn::Module& module, Communicator& communicator,
          const std::vector<const torch::nn::Module*>& blocks);
  ~Sharded() override;

  void set_accumulation(int64_t micro_batches) override;
  void backward(const at::Tensor& loss, bool last, const Votes& votes) override;
  void receive(const std::vector<at::Tensor>& gradients, bool last, const Votes& votes) override;
  bool fail_step(const Votes& votes) override;
  at::Tensor reduce() override;
  Reduced read_reduced(const at::Tensor& numbers) override;
  void step(double learning_rate) override;
  void skip() override;
  void forget() override;
  void share_buffers() override;
  double loss_scale() const override { return scale_.scale(); }
  NamedTensors weights() override;
  bool has_average() const override { return keeps_average_; }
  NamedTensors average() override;
  void load_weights(const NamedTensors& weights) override;
  void hold_whole_network() override;
  void let_whole_network_go() override;
  void use_average() override;
  void use_live() override;
  void save(StateWriter& writer) const override;
  void load(const StateReader& reader) override;

 private:
  struct Hook;
  void make_units(const Plan& plan, const OptimConfig& optim, const std::vector<ParameterTraits>& traits,
                  const std::vector<const torch::nn::Module*>& blocks);
  void take_hooks();
  void begin_micro_batch(bool last, const Votes& votes);
  void end_micro_batch(bool last);
  void arrive(size_t unit, size_t member);
  void start_ready_units();
  void reduce(size_t unit);
  void finish_reductions(size_t most_left);
  void gather_all();
  NamedTensors collect(void (ShardedUnit::*from)(NamedTensors&));

  torch::nn::Module& module_;
  Communicator& communicator_;
  double clip_norm_;
  int64_t bucket_bytes_;
  bool cuts_weights_, cuts_gradients_, exchanges_every_time_, keeps_average_;
  LossScale scale_;
  std::vector<std::unique_ptr<ShardedUnit>> units_;  // those of blocks first, in the order of a forward
  std::unique_ptr<GatheredBlocks> blocks_;           // where weights are cut
  std::unique_ptr<WeightKeeperScope> keeper_scope_;
  size_t block_units_ = 0;

  bool running_ = false;  // backward
  bool reduces_ = false;  // in this backward
  Votes votes_;
  std::vector<std::vector<size_t>> order_;  // by unit and member: which of learning_parameters() it is
  std::vector<std::vector<bool>> arrived_;  // in this backward, by unit and member
  std::vector<size_t> missing_;             // by unit
  std::vector<bool> reduced_;               // in this backward, by unit
  std::deque<size_t> on_their_way_;         // units whose gradients are
  std::vector<std::vector<bool>> used_;     // by any rank in this step, by unit and member
  double gradient_norm_ = 0;                // as it is, loss scale included
};

}  // namespace larmor
