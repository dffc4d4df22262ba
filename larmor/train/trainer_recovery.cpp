// What becomes of a step that a rank cannot do: for want of memory, for examples that are of no use, or
// because it has failed.
#include <optional>
#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/device.h"
#include "larmor/device/memory/out_of_memory.h"
#include "larmor/launch/rank_lost.h"
#include "larmor/train/pass_graphs.h"
#include "larmor/train/trainer.h"

namespace larmor {

void Trainer::take_smaller_micro_batches() {
  const auto what = text("step ", state_.progress.step + 1, ": memory ran out with micro-batch ",
                         plan_.micro_batch, " on at least one rank");
  if (std::exchange(plan_.graphs, false)) {
    failure_ = nullptr;
    graphs_->stop(what);
    open_loader_again();
    return;
  }
  const auto smaller = with_smaller_micro_batch(plan_);
  if (!smaller) refuse_smaller_micro_batches(what);
  failure_ = nullptr;
  plan_ = *smaller;
  state_.micro_batch = plan_.micro_batch;
  for (auto& learner : parts_.learners) learner.parallel->set_accumulation(plan_.accumulation);
  open_loader_again();
  parts_.tracker.event(
      moment(), "warning", {},
      text(what, "; all go on with ", plan_.micro_batch, " and accumulation ", plan_.accumulation));
}

void Trainer::open_loader_again() {
  bad_.add(loader_->quarantine());
  feed_.clear();
  loader_.reset();  // before the next one: its batches take memory
  release_cached_memory(parts_.device);
  loader_ = parts_.open_loader(plan_, state_.progress.examples, bad_.left_out());
}

void Trainer::refuse_smaller_micro_batches(const std::string& what) const {
  if (!plan_.whole_micro_batch) {
    fail(Exit::memory, what, "train.activation_checkpointing=blocks, smaller examples, or a smaller model");
  }
  fail(Exit::memory,
       text(what, "; it is not halved, because batch norm would compute something else of smaller ones"),
       "train.activation_checkpointing=blocks, more ranks for the same train.global_batch, smaller examples, "
       "or a new run with a smaller train.global_batch");
}

void Trainer::leave_alone(bool no_memory) {
  if (!no_memory) std::rethrow_exception(failure_);
  const auto what =
      text("step ", state_.progress.step + 1, ": memory ran out with micro-batch ", plan_.micro_batch);
  if (plan_.whole_micro_batch) refuse_smaller_micro_batches(what);
  fail(Exit::memory, what,
       "the run goes on from its newest checkpoint with a smaller one, where there is one");
}

bool Trainer::leave_sums() { return parts_.rank_sums == nullptr || parts_.rank_sums->leave(); }

void Trainer::try_forward(const Batch& batch, const std::function<void(const Batch&)>& forward) {
  bad_.try_forward(batch, plan_.strategy != Strategy::zero3, forward);
}

bool Trainer::leave_out_bad_examples(const Votes& votes) {
  if (!votes.bad_file && !votes.failed) return false;
  const bool only_refused = votes.failed && bad_.leave_out(failure_);
  if (only_refused) {
    failure_ = nullptr;
    if (parts_.rank_sums != nullptr) parts_.rank_sums->join_again();
  }
  bad_.add(loader_->quarantine());
  try {
    bad_.share(moment());
  } catch (...) {
    if (!failure_) throw;
  }
  return only_refused;
}

void Trainer::settle_failure(const Votes& votes) {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  if (votes.failed) {
    fail(Exit::rank_lost, text("step ", state_.progress.step + 1, " failed on another rank"),
         "see that rank's log in the run folder");
  }
}

}  // namespace larmor
