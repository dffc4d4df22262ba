#include "larmor/train/step/recovery.h"

#include "larmor/base/text.h"
#include "larmor/device/memory/out_of_memory.h"
#include "larmor/launch/rank_lost.h"
#include "larmor/train/step/pass_graphs.h"

namespace larmor {

Votes Recovery::note_failure() {
  failure_ = std::current_exception();
  const bool no_memory = is_out_of_memory(failure_);
  // If this rank failed only because a peer was lost, it does not vote `failed`: the peer that failed first
  // reports the cause.
  return {.failed = !no_memory && !is_rank_lost(failure_), .out_of_memory = no_memory};
}

Votes Recovery::fail_step(const std::vector<bool>& active) {
  const Votes why = note_failure();
  bool together = leave_sums();
  for (size_t i = 0; i < active.size(); ++i) {
    if (active[i]) together = loop_.parts.learners[i].parallel->fail_step(why) && together;
  }
  if (together) return why;
  if (!why.out_of_memory) std::rethrow_exception(failure_);
  if (loop_.plan.whole_micro_batch) refuse_smaller_micro_batches(what_ran_out());
  fail(Exit::memory, what_ran_out(),
       "the run goes on from its newest checkpoint with a smaller one, where there is one");
}

bool Recovery::leave_sums() { return loop_.parts.rank_sums == nullptr || loop_.parts.rank_sums->leave(); }

Retry Recovery::retry_of(const Votes& votes) {
  const bool only_refused = votes.failed && loop_.bad.leave_out(failure_);
  if (only_refused) {
    failure_ = nullptr;
    if (loop_.parts.rank_sums != nullptr) loop_.parts.rank_sums->join_again();
  }
  // A step may have failed for its files; a failed rank's vote says no more than that.
  if (votes.bad_file || votes.failed) {
    batches_.note_bad_files();
    try {
      loop_.bad.share(loop_.moment());
    } catch (...) {
      if (!failure_) throw;
    }
  }
  if (only_refused) return Retry::without_bad_examples;
  if (votes.out_of_memory && !votes.failed) return Retry::with_less_memory;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  if (votes.failed) {
    fail(Exit::rank_lost, text("step ", loop_.state.progress.step + 1, " failed on another rank"),
         "see that rank's log in the run folder");
  }
  return Retry::none;
}

void Recovery::prepare(Retry retry, PassGraphs* graphs) {
  if (retry == Retry::with_less_memory) take_less_memory(graphs);
  failure_ = nullptr;
  batches_.open_again();
}

void Recovery::take_less_memory(PassGraphs* graphs) {
  const auto what = what_ran_out() + " on at least one rank";
  if (std::exchange(loop_.plan.graphs, false)) {
    if (graphs != nullptr) graphs->stop(what);
    return;
  }
  const auto smaller = with_smaller_micro_batch(loop_.plan);
  if (!smaller) refuse_smaller_micro_batches(what);
  loop_.plan = *smaller;
  loop_.state.micro_batch = smaller->micro_batch;
  for (auto& learner : loop_.parts.learners) learner.parallel->set_accumulation(smaller->accumulation);
  loop_.warn(
      text(what, "; all go on with ", smaller->micro_batch, " and accumulation ", smaller->accumulation));
}

std::string Recovery::what_ran_out() const {
  return text("step ", loop_.state.progress.step + 1, ": memory ran out with micro-batch ",
              loop_.plan.micro_batch);
}

void Recovery::refuse_smaller_micro_batches(const std::string& what) const {
  if (!loop_.plan.whole_micro_batch) {
    fail(Exit::memory, what, "train.activation_checkpointing=blocks, smaller examples, or a smaller model");
  }
  fail(Exit::memory,
       text(what, "; it is not halved, because batch norm would compute something else of smaller ones"),
       "train.activation_checkpointing=blocks, more ranks for the same train.global_batch, smaller examples, "
       "or a new run with a smaller train.global_batch");
}

}  // namespace larmor
