// Parameters that lie in one flat buffer, of which every rank owns an equal shard: the weights as the
// optimizer has them, its states, and the mean gradient. Source: Rajbhandari et al. 2020 (ZeRO).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/comm/communicator.h"
#include "larmor/config/run_config.h"
#include "larmor/device/state.h"
#include "larmor/device/tensors/tensor_file.h"
#include "larmor/optim/ema.h"
#include "larmor/optim/optimizer.h"
#include "larmor/parallel/agreement.h"
#include "larmor/parallel/shard_layout.h"

namespace larmor {

/// Where the gradients of a step's micro-batches add up. Gradients that come narrower than the parameters'
/// own type are added up in that one: a sum of many in half precision loses the late ones.
enum class GradientSum {
  none,      // a step has one micro-batch
  in_whole,  // on each rank, before they are reduced
  in_shard,  // with their owner, once they are reduced
};

struct ShardOptions {
  OptimConfig optim;
  std::map<std::string, ParameterTraits> traits;  // of every parameter, by name
  /// The type in which the network computes. Narrower than the parameters' own type: the optimizer keeps
  /// master weights in that one.
  c10::ScalarType type = c10::ScalarType::Float;
  bool offload = false;         // master weights and states stay on the host
  bool cuts_gradients = false;  // a whole gradient lives from its first arrival to its reduction
  bool cuts_weights = false;    // whole weights live from start_gather() to release()
};

class ShardedUnit {
 public:
  /// Takes the parameters over: they become views of the flat buffer. `bucket` names them by their place in
  /// `parameters`. Borrows the communicator.
  ShardedUnit(Bucket bucket, const TensorList& parameters, const ShardOptions& options,
              Communicator& communicator);
  ShardedUnit(const ShardedUnit&) = delete;
  ShardedUnit& operator=(const ShardedUnit&) = delete;

  size_t members() const { return parameters_.size(); }
  at::Tensor& parameter(size_t member) { return parameters_[member].second; }
  bool cuts_weights() const { return options_.cuts_weights; }
  bool is_whole() const { return is_whole_; }

  /// Brings the other ranks' weights; nothing when they are here or on their way. Collective.
  void start_gather();
  /// Blocks until they are here. Requires: they are, or are on their way.
  void finish_gather();
  bool is_gathering() const { return gathering_.has_value(); }
  /// Lets go what other ranks own; nothing where weights are not cut.
  void release();

  /// Counts from the next step on, and is the same on all ranks, for it decides how wide gradients travel.
  void set_gradient_sum(GradientSum where);
  /// Adds to the parameter's gradient, as autograd does it: the first one becomes the gradient itself.
  void add_gradient(size_t member, const at::Tensor& gradient);
  /// Takes the gradient that lies in the parameter.
  void arrive(size_t member);
  /// The mean of the ranks' gradients is on its way to its owners; members that had none count as zero. At
  /// most one at a time. Collective.
  void start_reduce();
  /// Blocks until it is here, and adds it to what came before in this step.
  void finish_reduce();
  /// Members that had a gradient on this rank since drop().
  const std::vector<bool>& touched() const { return touched_; }
  /// The sum of squares of this rank's shard of the gradient, a float64 scalar on the unit's device.
  at::Tensor squared_norm() const;

  /// Multiplies the gradient by `factor`, moves the owned weights of `used` members, and drops the gradient.
  /// The weights of the others' shards are stale until a gather.
  void step(double learning_rate, double factor, const std::vector<bool>& used);
  /// Forgets the step's gradient.
  void drop();

  /// Rank 0 gets the members' weights as the optimizer has them, or their average, on the host; others
  /// nothing. Collective.
  void collect_weights(NamedTensors& into);
  void collect_average(NamedTensors& into);
  /// Sets the owned weights from whole ones; the network's are stale until a gather.
  void load_weights(const NamedTensors& weights);
  /// Sets the owned weights to their average; the network's are stale until a gather.
  void use_average();
  /// The network's weights are again what they were before use_average(), with no word from other ranks; cut
  /// ones wait for a gather as ever.
  void use_live();
  /// The optimizer's state and the average of the owned weights.
  void save(StateWriter& writer) const;
  void load(const StateReader& reader);
  int64_t steps() const { return optimizer_->steps(); }

 private:
  const std::string& name(size_t member) const { return parameters_[member].first; }
  at::TensorOptions master_options() const;
  /// The options of whole gradients, which travel as wide as they have been added up.
  at::TensorOptions gradient_options() const;
  /// Whether whole gradients are wider than those that backward makes.
  bool widens_gradients() const;
  at::Tensor view_of(const at::Tensor& flat, size_t member) const;
  void collect(const at::Tensor& shard, NamedTensors& into);

  ShardOptions options_;
  Communicator& communicator_;
  TensorList parameters_;  // in the bucket's order
  Bucket bucket_;          // padded
  int64_t shard_elements_ = 0;
  std::vector<Piece> pieces_;  // owned

  at::Tensor full_;    // the network's weights
  at::Tensor live_;    // a copy of them while full_ has averages
  at::Tensor own_;     // this rank's shard of them; part of full_ where weights are not cut
  at::Tensor master_;  // what the optimizer moves; own_ itself unless has_master_
  bool has_master_ = false;
  c10::ScalarType master_type_ = c10::ScalarType::Float;
  GradientSum gradient_sum_ = GradientSum::none;
  at::Tensor full_gradient_, own_gradient_, reduced_;
  std::vector<at::Tensor> owned_;  // one a piece, into master_
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<Ema> average_;

  bool is_whole_ = true;
  std::optional<Pending> gathering_, reducing_;
  std::vector<bool> touched_;
};

}  // namespace larmor
