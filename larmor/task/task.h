// What a stage of a workload learns: its networks, its losses, its validation. With Stage, all that a
// newcomer writes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/base/declared_figure.h"
#include "larmor/data/dataset.h"
#include "larmor/device/state.h"
#include "larmor/optim/parameter_groups.h"
#include "larmor/task/case_columns.h"
#include "larmor/task/metrics.h"

namespace torch::nn {
class Module;
}

namespace larmor {

struct Prediction;
struct PredictionContext;

/// A loss and the network that learns from it. The first objective's network is the one that predicts.
struct Objective {
  std::string name;            // "generator", "discriminator"
  torch::nn::Module* network;  // borrowed from the task
  /// Learning rates and weight decays of parts of the network; the longest prefix of a name counts.
  std::vector<ParameterRule> rules = {};
};

/// Step counters, and the collectives that a task may call.
struct StepContext {
  int64_t step = 0;
  int64_t epoch = 0;  // completed epochs, the same for all examples of a step
  bool training = true;
  /// [k], where Task::counted() is k: what Task::counts() gave, summed over all micro-batches and ranks of
  /// the step.
  at::Tensor counts = {};
  /// Parts of the loss to show: record("recon", value). Averaged over micro-batches and ranks; one that does
  /// not record a name counts as zero.
  std::function<void(const std::string& name, const at::Tensor& value)> record = [](const std::string&,
                                                                                    const at::Tensor&) {};
  /// A ratio to show: the sum of all `sum` over that of all `count`, of all micro-batches and ranks that
  /// record the name.
  std::function<void(const std::string& name, const at::Tensor& sum, const at::Tensor& count)> record_ratio =
      [](const std::string&, const at::Tensor&, const at::Tensor&) {};
  /// The mean and the sum over ranks of a tensor. Collective.
  std::function<at::Tensor(const at::Tensor&)> mean_over_ranks = [](const at::Tensor& value) {
    return value;
  };
  std::function<at::Tensor(const at::Tensor&)> sum_over_ranks = [](const at::Tensor& value) { return value; };
};

/// Calls its argument with this rank's micro-batches of a step, one after the other, on the device and each
/// under the draws of its examples. Collective.
using EachBatch = std::function<void(const std::function<void(const Batch&)>& use)>;

/// A loss that is no mean over examples: for Cox's, who is at risk is a matter of the whole batch. The
/// trainer brings together what all ranks and micro-batches of a step give, so that neither the loss nor its
/// gradient depends on how the batch is divided.
class WholeBatchLoss {
 public:
  virtual ~WholeBatchLoss() = default;
  /// [n, …] of a micro-batch, with gradient: what the network makes of it. Called twice where a step has
  /// several micro-batches, with the same draws and buffers.
  virtual at::Tensor rows(const Batch& batch, const StepContext& context) = 0;
  /// [n, …], no gradient: what the rows are compared with. `batch` is as the loader has it, on the host.
  virtual at::Tensor targets(const Batch& batch) = 0;
  /// A scalar of all rows of the step, in the order of their positions; on every rank alike. Rows are on the
  /// device; targets come on the host, where it costs nothing to sort them, and in float64, whatever the type
  /// of the rows: send() takes them to the rows. A host that reads a value of the rows here waits for the
  /// device once more a step. What it records counts once, not once a micro-batch.
  virtual at::Tensor loss(const at::Tensor& rows, const at::Tensor& targets, const StepContext& context) = 0;
};

/// What is wrong with a run by what its steps record: said once a run for each key.
struct Complaint {
  std::string key, words;
};

class Task {
 public:
  virtual ~Task() = default;
  /// The objectives, in a fixed order; the first one's network predicts, and it is active at every step.
  virtual std::vector<Objective> objectives() = 0;
  /// Networks that take part and do not learn, such as a frozen encoder: placed beside the others, frozen, in
  /// evaluation mode, whole on every rank, and in no checkpoint. None is an objective's network.
  virtual std::vector<torch::nn::Module*> companions() { return {}; }
  /// Whether an objective learns at this step: a function of the context alone, the same on all ranks.
  virtual bool is_active(const Objective&, const StepContext&) const { return true; }
  /// Called for a run that is not resumed, before its networks are shared among ranks: weights from files.
  virtual void start() {}
  /// Once before the first step of a run that is not resumed, without gradient and in evaluation mode: what
  /// has to be known of the data, such as a scale factor. `first` reads the first global batch, which
  /// training then sees all the same; only its sums over ranks do not depend on how it is divided. Where
  /// `use` throws Error (data), the examples at fault count as bad files, and prepare() is called again from
  /// its start.
  virtual void prepare(const EachBatch& /*first*/, const StepContext&) {}
  /// The number of counts: above 0, the loss is normalised over the whole step by so many counts: what
  /// losses() give is a part of a sum over micro-batches and ranks, divided by the step's `context.counts`.
  /// At 0 it is a mean over both.
  virtual int64_t counted() const { return 0; }
  /// [counted()], of one micro-batch as the loader has it, on the host. A step's micro-batches are then read
  /// before the first one is computed.
  virtual at::Tensor counts(const Batch&) { return {}; }
  /// One scalar per objective, in their order, from one forward pass; undefined for an objective that is
  /// not active at this step. A gradient reaches only its own objective's network. Error (data) says that the
  /// batch's examples are of no use: the step is done again without them, and they count as bad files.
  virtual std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) = 0;
  /// A complaint of what the step has recorded, by its names: what a person who trains has to be told. The
  /// same on every rank, as what is recorded is.
  virtual std::optional<Complaint> complaint(const std::map<std::string, double>& /*recorded*/) const {
    return std::nullopt;
  }
  /// Where losses() launches the same work for every batch of a shape, so that a GPU can repeat it without
  /// the host: which of such passes it is at this step, by a number of the task's own. That is so where the
  /// host looks at no value of the batch, refuses none, and computes nothing from the batch or its draws;
  /// what it reads of the context has to be told by the number.
  virtual std::optional<int64_t> fixed_pass(const StepContext&) const { return std::nullopt; }
  /// Not null: the one objective of the task learns from this, and losses() is not called.
  virtual WholeBatchLoss* whole_batch_loss() { return nullptr; }
  /// Judges the batch without gradient, in evaluation mode. "loss" has to come from here, a value a case, or
  /// from summarize(). Error (data) says that this case is of no use: it is left out, named, and counted as a
  /// bad file.
  virtual void validate(const Batch& batch, Metrics& metrics) = 0;
  /// When validate() has seen all cases: figures of the split as a whole. `cases` holds what it recorded and
  /// noted, `reference` the same of Stage::reference()'s cases; both are alike on every rank, and so have
  /// to be the figures.
  virtual void summarize(const CaseValues& /*cases*/, const CaseValues& /*reference*/, Metrics&) {}
  /// Whether validate() notes the same of reference cases in every validation of a run, because nothing that
  /// learns takes part in it: then they are looked at once.
  virtual bool reference_stays() const { return false; }
  /// What the figures of a validation are, and what they are held against: those that validate() and
  /// summarize() may give, in the order in which a person reads them. What is not declared is shown as it is.
  virtual DeclaredFigures figures() const { return {}; }
  /// What a table of cases has of each beside the values that validate() gave; `cases` as summarize() has
  /// them. By default what was noted of single cases under the name of a figure.
  virtual CaseColumns case_columns(const CaseValues& cases) const { return noted_figures(figures(), cases); }
  /// What of a split's cases is there or not, for thresholds and ROC curves; `cases` as summarize() has them.
  virtual std::vector<ScoredTruths> scores(const CaseValues& /*cases*/) const { return {}; }
  /// What is computed for `predict`, without gradient and in evaluation mode: what becomes of one case.
  /// `inputs` holds the images of Stage::prediction() that were given, [1, C, D, H, W], prepared and on the
  /// context's device; one row in any case, for which draws are the same at every call with the same seed and
  /// case number. By default an Error (usage): the stage predicts nothing.
  virtual Prediction predict(const Batch& inputs, const PredictionContext& context);
  /// A sentence for the person who predicts: which of its values the task cannot give with these weights,
  /// why, and what to do. Empty where it gives all.
  virtual std::string missing_values() const { return {}; }
  /// What a resumed run and `predict` need beside the networks' weights (a latent scale factor, say).
  virtual void save(StateWriter&) const {}
  /// `of_average`: the network that it goes with has the averaged weights.
  virtual void load(const StateReader&, bool /*of_average*/) {}
};

}  // namespace larmor
