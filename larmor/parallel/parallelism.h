// How gradients are reduced. Reduction, clipping, loss scale, optimizer and EMA stand behind this interface,
// because sharding changes them all; the loop is the same for one device and for many.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/comm/communicator.h"
#include "larmor/config/run_config.h"
#include "larmor/device/state.h"
#include "larmor/device/tensors/tensor_file.h"
#include "larmor/optim/parameter_groups.h"
#include "larmor/plan/plan.h"

namespace torch::nn {
class Module;
}

namespace larmor {

/// What a rank tells the others along with its gradients; after the reduction, whether any rank said so.
struct Votes {
  bool non_finite = false;     // a loss was not finite
  bool stop = false;           // a stop was asked for
  bool failed = false;         // backward threw on a rank
  bool bad_file = false;       // a file could not be used, and another has taken its place
  bool out_of_memory = false;  // a micro-batch did not fit
  bool new_names = false;      // values are recorded under names that not all ranks know
  bool save_ended = false;     // a save has ended, whose outcome has not been taken
  /// A number on the network's device: above zero where a loss was not finite. It travels as `non_finite`
  /// does, and no host waits for it. May be undefined.
  at::Tensor non_finite_losses = {};

  void add(const Votes& more) {
    non_finite = non_finite || more.non_finite;
    stop = stop || more.stop;
    failed = failed || more.failed;
    bad_file = bad_file || more.bad_file;
    out_of_memory = out_of_memory || more.out_of_memory;
    new_names = new_names || more.new_names;
    save_ended = save_ended || more.save_ended;
  }
};

/// The state of the gradients once they are reduced.
struct Reduced {
  Votes votes;
  double gradient_norm = 0;  // before clipping, unscaled
  bool finite = true;        // the norm is finite: same on all ranks
};

class Parallelism {
 public:
  virtual ~Parallelism() = default;

  /// A step has so many micro-batches from the next one on; at first it has the plan's.
  virtual void set_accumulation(int64_t /*micro_batches*/) {}
  /// Adds loss's gradients of this micro-batch; on the `last` one they are averaged over ranks, with
  /// `votes` travelling along. The loss is already divided by the accumulation. Collective when `last`.
  virtual void backward(const at::Tensor& loss, bool last, const Votes& votes) = 0;
  /// The same of gradients that have been computed, of the loss times loss_scale(): one a parameter, in the
  /// order of learning_parameters(), undefined where the loss does not reach it. They are copied in the order
  /// of the current stream. Requires: not ZeRO-3, which gathers weights as it computes. Collective when
  /// `last`.
  virtual void receive(const std::vector<at::Tensor>& gradients, bool last, const Votes& votes) = 0;
  /// Called in place of backward on a rank whose forward or backward failed: takes part in the step's
  /// collectives with zeros and `votes`, and gives true. Collective. Where the others need this rank's
  /// weights before they can go on, it ends their collectives with Error (rank_lost) instead, and gives
  /// false.
  virtual bool fail_step(const Votes& votes) = 0;
  /// Ends the step's collectives. What the ranks have told each other, as numbers for read_reduced(): float64
  /// [n], on the device, because no host need wait for each of them. Collective.
  virtual at::Tensor reduce() = 0;
  /// Reads what reduce() gave, once it is on the host: from here on the parameters have the gradients of the
  /// step. A parameter that no rank had a gradient for has none.
  virtual Reduced read_reduced(const at::Tensor& numbers) = 0;
  /// Both. Blocks until the gradients are reduced. Collective.
  Reduced finish();
  /// Clips, moves the weights, updates the average, drops the gradients.
  virtual void step(double learning_rate) = 0;
  /// Drops the gradients; the loss scale backs off.
  virtual void skip() = 0;
  /// Drops the gradients, as if the step had not begun.
  virtual void forget() = 0;

  /// Rank 0's running statistics on every rank, so that all validate one network. Collective.
  virtual void share_buffers() = 0;
  /// Throws Error (rank_lost) on every rank where ranks that each keep the whole network no longer keep the
  /// same (replica_check.h). ZeRO has nothing to compare: each weight has one owner, which sends it to the
  /// others at each step. Collective.
  virtual void check_replicas() {}

  virtual double loss_scale() const = 0;
  /// Rank 0 gets the network's parameters and buffers under their names, the parameters as the optimizer has
  /// them; others get nothing. The tensors may be live. Collective.
  virtual NamedTensors weights() = 0;
  virtual bool has_average() const = 0;
  /// The same of the averaged weights. Requires: has_average(). Collective.
  virtual NamedTensors average() = 0;
  /// Throws Error (checkpoint) as load_state_dict() does. Collective.
  virtual void load_weights(const NamedTensors& weights) = 0;

  /// Every rank can then run the network on its own, as often as it likes. Collective.
  virtual void hold_whole_network() {}
  virtual void let_whole_network_go() {}

  /// The network has its averaged weights from here on; it must not learn before use_live(). Requires:
  /// has_average(), and the whole network is not held. Collective.
  virtual void use_average() = 0;
  virtual void use_live() = 0;

  /// This rank's part of the optimizer state, "<kind>/<parameter>" ("exp_avg/encoder.blocks.0.conv.weight"),
  /// with a range of elements where it has not all of them (state_ranges.h), and scalars. Replicas: rank 0
  /// has all, others nothing.
  virtual void save(StateWriter& writer) const = 0;
  /// Takes the state of a run of any world size.
  virtual void load(const StateReader& reader) = 0;

 private:
  friend class WholeNetwork;
  friend class AveragedWeights;
  bool is_whole_ = false, is_averaged_ = false;
};

/// Every rank has the whole network until the end of the scope. Collective at its start.
class WholeNetwork {
 public:
  explicit WholeNetwork(Parallelism& parallelism)
      : parallelism_(parallelism), is_outermost_(!parallelism.is_whole_) {
    if (is_outermost_) parallelism_.hold_whole_network();
    parallelism_.is_whole_ = true;
  }
  ~WholeNetwork() {
    if (!is_outermost_) return;
    parallelism_.is_whole_ = false;
    parallelism_.let_whole_network_go();
  }
  WholeNetwork(const WholeNetwork&) = delete;
  WholeNetwork& operator=(const WholeNetwork&) = delete;

 private:
  Parallelism& parallelism_;
  const bool is_outermost_;
};

/// The network has its averaged weights until the end of the scope; nothing where there is no average.
/// Collective at its start.
class AveragedWeights {
 public:
  explicit AveragedWeights(Parallelism& parallelism)
      : AveragedWeights(parallelism, parallelism.has_average() && !parallelism.is_averaged_) {
    // Now ~AveragedWeights() puts back what has been changed, should this throw.
    if (is_outermost_) parallelism_.use_average();
  }
  ~AveragedWeights() {
    if (!is_outermost_) return;
    parallelism_.is_averaged_ = false;
    parallelism_.use_live();
  }
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

 private:
  AveragedWeights(Parallelism& parallelism, bool is_outermost)
      : parallelism_(parallelism), is_outermost_(is_outermost) {
    parallelism_.is_averaged_ = parallelism_.is_averaged_ || is_outermost;
  }

  Parallelism& parallelism_;
  const bool is_outermost_;
};

/// Makes the parallelism, by the plan's strategy. Rank 0's weights and buffers win. ZeRO-3 cuts the weights
/// of `blocks`: modules within `module` that forward passes to nn::run_block, in the order of a forward; what
/// is in none of them stays whole. Borrows the module and the communicator. Throws Error (usage) for a
/// network that cannot be cut: a parameter shared between blocks, or no block at all; and for rules as
/// traits_of(). Collective.
std::unique_ptr<Parallelism> make_parallelism(const Plan& plan, const OptimConfig& optim,
                                              torch::nn::Module& module, Communicator& communicator,
                                              const std::vector<const torch::nn::Module*>& blocks = {},
                                              const std::vector<ParameterRule>& rules = {});

}  // namespace larmor
