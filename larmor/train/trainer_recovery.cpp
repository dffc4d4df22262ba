// What becomes of a step that a rank cannot do: for want of memory, for examples that are of no use, or
// because it has failed.
#include <optional>
#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/device/device.h"
#include "larmor/device/memory/out_of_memory.h"
#include "larmor/device/rank_sum.h"
#include "larmor/launch/rank_lost.h"
#include "larmor/train/pass_graphs.h"
#include "larmor/train/trainer.h"

namespace larmor {

namespace {

Batch example_of(const Batch& batch, int64_t row) {
  Batch one;
  for (const auto& [name, tensor] : batch.tensors) one.tensors.emplace(name, tensor.narrow(0, row, 1));
  one.keys = {batch.keys[static_cast<size_t>(row)]};
  if (!batch.positions.empty()) one.positions = {batch.positions[static_cast<size_t>(row)]};
  return one;
}

}  // namespace

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
  met_earlier_.insert(met_earlier_.end(), loader_->quarantine().begin(), loader_->quarantine().end());
  feed_.clear();
  loader_.reset();  // before the next one: its batches take memory
  release_cached_memory(parts_.device);
  loader_ = parts_.open_loader(plan_, state_.progress.examples, odd_examples_);
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

void Trainer::settle_files(const Votes& votes) {
  // A step may have failed for its files; a failed rank's vote says no more than that.
  if (!votes.bad_file && !votes.failed) return;
  try {
    parts_.quarantine.share(bad_files(), moment());
  } catch (...) {
    if (!failure_) throw;
  }
}

std::string Trainer::names_in(const Batch& batch) const {
  std::vector<std::string> names;
  for (const auto& key : batch.keys) names.push_back(parts_.training_cases.name(key.example));
  return text("while training on ", join(names, ", "));
}

void Trainer::try_forward(const Batch& batch, const std::function<void(const Batch&)>& forward) {
  try {
    forward(batch);
  } catch (const Error& error) {
    if (error.exit() == Exit::data) note_odd_examples(batch, error, forward);
    throw error.within(names_in(batch));
  }
}

void Trainer::note_odd_examples(const Batch& batch, const Error& refusal,
                                const std::function<void(const Batch&)>& forward) {
  const auto& cases = parts_.training_cases;
  std::map<int64_t, BadFile> odd;
  // Where the ranks need each other for a forward, none can be tried alone: all of the batch are held to be
  // alike, as they are in shape.
  const bool can_try = batch.size() > 1 && plan_.strategy != Strategy::zero3;
  const RankSumScope alone(nullptr);
  for (int64_t row = 0; can_try && row < batch.size(); ++row) {
    const auto one = example_of(batch, row);
    try {
      forward(one);
    } catch (const Error& error) {
      const auto example = one.keys.front().example;
      if (error.exit() == Exit::data) odd.emplace(example, bad_file_of(cases, example, error));
    } catch (const std::exception&) {
      continue;  // of another kind, which says nothing of the one that is looked for
    }
  }
  for (const auto& key : batch.keys) {
    if (odd.empty() || !can_try)
      odd_in_this_step_.emplace(key.example, bad_file_of(cases, key.example, refusal));
  }
  odd_in_this_step_.insert(odd.begin(), odd.end());
  // Crops of one volume go together.
  const auto together = cases.examples_per_case();
  for (const auto& [example, file] : std::map(odd_in_this_step_)) {
    for (int64_t crop = 0; crop < together; ++crop)
      odd_in_this_step_.emplace(example / together * together + crop, file);
  }
}

bool Trainer::leave_out_odd_examples(const Votes& votes) {
  const auto own = std::exchange(odd_in_this_step_, {});
  if (!votes.failed) return false;
  // A rank that has failed for want of another, or of memory, meets its own failure again, or none.
  const bool fails_again = failure_ && own.empty() && !is_rank_lost(failure_) && !is_out_of_memory(failure_);
  Json json = Json::array();
  for (const auto& [example, file] : own) json.push_back({example, to_json(std::vector{file})});
  if (fails_again) json = "fails";
  const auto bytes = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  bool only_odd = true;
  for (const auto& of_rank : all_gather_bytes(parts_.communicator, bytes)) {
    const auto said = parse_json(of_rank, "a rank's odd examples");
    only_odd = only_odd && said.is_array();
    for (const auto& entry : said.is_array() ? said : Json::array()) {
      const auto file = bad_files_from(entry[1]).at(0);
      odd_examples_.emplace(entry[0].get<int64_t>(), file);
      met_earlier_.push_back(file);
    }
  }
  if (!only_odd) return false;
  failure_ = nullptr;
  if (parts_.rank_sums != nullptr) parts_.rank_sums->join_again();
  return true;
}

void Trainer::settle_failure(const Votes& votes) {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  if (votes.failed) {
    fail(Exit::rank_lost, text("step ", state_.progress.step + 1, " failed on another rank"),
         "see that rank's log in the run folder");
  }
}

std::vector<BadFile> Trainer::bad_files() const {
  auto files = met_earlier_;
  const auto& now = loader_->quarantine();
  files.insert(files.end(), now.begin(), now.end());
  files.insert(files.end(), bad_cases_.begin(), bad_cases_.end());
  return files;
}

}  // namespace larmor
