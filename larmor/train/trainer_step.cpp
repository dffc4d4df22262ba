// One step of the loop: data, model, losses, backward and reduction, optimizer; and what becomes of a step
// that a rank cannot do.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/device/autocast.h"
#include "larmor/device/device.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/out_of_memory.h"
#include "larmor/device/rank_sum.h"
#include "larmor/device/run_block.h"
#include "larmor/launch/rank_lost.h"
#include "larmor/launch/stop_signal.h"
#include "larmor/optim/loss_scale.h"
#include "larmor/train/batch_device.h"
#include "larmor/train/kept_buffers.h"
#include "larmor/train/trainer.h"
#include "larmor/train/whole_batch.h"

namespace larmor {

namespace {

Batch example_of(const Batch& batch, int64_t row) {
  Batch one;
  for (const auto& [name, tensor] : batch.tensors) one.tensors.emplace(name, tensor.narrow(0, row, 1));
  one.keys = {batch.keys[static_cast<size_t>(row)]};
  if (!batch.positions.empty()) one.positions = {batch.positions[static_cast<size_t>(row)]};
  return one;
}

/// The first objective's values carry the plain names, the others' their own.
std::string suffix_of(size_t place, const Learner& learner) {
  return place == 0 ? std::string() : "_" + learner.objective.name;
}

}  // namespace

Trainer::StepOutcome Trainer::step() {
  const double started = parts_.clock.steady_seconds();
  std::optional<StepOutcome> outcome;
  while (!outcome) outcome = try_step();
  synchronize(parts_.device);
  const double seconds = parts_.clock.steady_seconds() - started;
  longest_step_ = std::max(longest_step_, seconds);
  outcome->values["perf/step_ms"] = seconds * 1e3;
  outcome->values["perf/samples_per_second"] = static_cast<double>(plan_.global_batch) / seconds;
  const double waited = loader_->take_wait_seconds();
  outcome->values["perf/data_wait"] = waited / seconds;
  data_wait_.add_step(seconds, waited, loader_->take_stage_seconds());
  outcome->values["mem/peak_gib"] = static_cast<double>(peak_memory_bytes(parts_.device)) / (1 << 30);
  return *outcome;
}

std::optional<Trainer::StepOutcome> Trainer::try_step() {
  const auto now = context(nullptr);
  std::vector<bool> active;
  std::vector<const torch::nn::Module*> networks;
  for (const auto& learner : parts_.learners) {
    active.push_back(parts_.task.is_active(learner.objective, now));
    networks.push_back(learner.objective.network);
  }
  const KeptBuffers buffers(networks);  // for a step that may have to be done again

  Records records;
  Votes votes{.stop = is_time_up() || stop_requested()};
  accumulate(active, records, votes);  // data, model, losses, backward / reduce
  enter(Phase::communicating);
  const Meeting meeting = meet(active, votes);
  const bool only_odd = leave_out_odd_examples(meeting.votes);
  settle_files(meeting.votes);
  if (only_odd || (meeting.votes.out_of_memory && !meeting.votes.failed)) {
    for (auto& learner : parts_.learners) learner.parallel->forget();
    buffers.restore();
    only_odd ? open_loader_again() : take_smaller_micro_batches();
    return std::nullopt;
  }
  settle_failure(meeting.votes);

  StepOutcome outcome{.stop = meeting.votes.stop,
                      .values = records.mean(plan_.accumulation, "train/", parts_.communicator)};
  if (meeting.finite && !meeting.votes.non_finite) {
    move_weights(active, meeting.reduced, outcome.values);  // optimizer
  } else {
    skip_step(active, meeting, outcome.values);
  }
  return outcome;
}

Trainer::Meeting Trainer::meet(const std::vector<bool>& active, const Votes& own) {
  Meeting meeting{.votes = own, .reduced = std::vector<Reduced>(parts_.learners.size())};
  for (size_t i = 0; i < parts_.learners.size(); ++i) {
    if (!active[i]) continue;
    meeting.reduced[i] = parts_.learners[i].parallel->finish();
    meeting.finite = meeting.finite && meeting.reduced[i].finite;
    meeting.votes.add(meeting.reduced[i].votes);
  }
  return meeting;
}

void Trainer::take_smaller_micro_batches() {
  const auto smaller = with_smaller_micro_batch(plan_);
  const auto what = text("step ", state_.progress.step + 1, ": memory ran out with micro-batch ",
                         plan_.micro_batch, " on at least one rank");
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

void Trainer::accumulate(const std::vector<bool>& active, Records& records, Votes& votes) {
  const RankSumScope all_ranks(parts_.rank_sums);
  try {
    if (auto* const whole = parts_.task.whole_batch_loss()) {
      accumulate_whole(*whole, records, votes);
      return;
    }
    for (int64_t micro = 0; micro < plan_.accumulation; ++micro)
      forward_backward(next_batch(votes), micro + 1 == plan_.accumulation, active, records, votes);
  } catch (...) {
    // The others are on their way into this step's collectives: take part with zeros and a flag, so that
    // all ranks come out of the step together. Where that cannot be, this rank's end tells them.
    failure_ = std::current_exception();
    const bool no_memory = is_out_of_memory(failure_);
    // A rank that another has left in the lurch leaves it to that one to say why.
    const Votes why{.failed = !no_memory && !is_rank_lost(failure_), .out_of_memory = no_memory};
    votes.add(why);
    bool together = leave_sums();
    for (size_t i = 0; i < parts_.learners.size(); ++i) {
      if (active[i]) together = parts_.learners[i].parallel->fail_step(why) && together;
    }
    if (!together) leave_alone(no_memory);
  }
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

Batch Trainer::next_batch(Votes& votes) {
  enter(Phase::waiting_for_data);
  auto batch = to_device(loader_->next(), parts_.device, plan_.precision);
  votes.bad_file = parts_.quarantine.lacks_some(bad_files());
  enter(Phase::computing);
  return batch;
}

void Trainer::accumulate_whole(WholeBatchLoss& loss, Records& records, Votes& votes) {
  auto& learner = parts_.learners.front();
  WholeBatch whole(loss, *learner.objective.network,
                   {.accumulation = plan_.accumulation,
                    .device = parts_.device,
                    .precision = plan_.precision,
                    .recompute = plan_.recompute});
  std::exception_ptr failure;
  try {
    for (int64_t micro = 0; micro < plan_.accumulation; ++micro) {
      const auto batch = next_batch(votes);
      try_forward(batch, [&](const Batch& part) { whole.forward(part, context(nullptr)); });
    }
  } catch (...) {
    failure = std::current_exception();
    if (!leave_sums()) throw;
  }
  // A rank that has failed takes part all the same: the others wait for its rows.
  auto now = context(&records);
  const double micro_batches = static_cast<double>(plan_.accumulation);
  now.record = [&records, micro_batches](const std::string& name, const at::Tensor& value) {
    records.add(name, value * micro_batches);  // records are means over micro-batches
  };
  const bool met = whole.meet(failure == nullptr, now, parts_.communicator);
  if (failure) std::rethrow_exception(failure);
  if (!met) {
    learner.parallel->fail_step({});  // the rank that failed says why
    return;
  }
  votes.non_finite = votes.non_finite || !std::isfinite(whole.loss());
  for (int64_t micro = 0; micro < plan_.accumulation; ++micro)
    learner.parallel->backward(whole.share_of(micro, context(nullptr)), micro + 1 == plan_.accumulation,
                               votes);
}

void Trainer::forward_backward(const Batch& batch, bool last, const std::vector<bool>& active,
                               Records& records, Votes& votes) {
  const DrawScope draws(draw_position_of(batch));
  std::vector<at::Tensor> losses;
  {
    const AutocastScope autocast(parts_.device.type(), plan_.precision);
    const RecomputeScope recompute(plan_.recompute);
    try_forward(batch, [&](const Batch& part) { losses = parts_.task.losses(part, context(&records)); });
  }
  for (const auto& loss : losses) {
    if (loss.defined() && !std::isfinite(loss.item<double>())) votes.non_finite = true;
  }
  for (size_t i = 0; i < parts_.learners.size(); ++i) {
    if (!active[i]) continue;
    const auto share = losses[i] / static_cast<double>(plan_.accumulation);
    parts_.learners[i].parallel->backward(share, last, votes);
  }
}

void Trainer::move_weights(const std::vector<bool>& active, const std::vector<Reduced>& reduced,
                           Values& values) {
  for (size_t i = 0; i < parts_.learners.size(); ++i) {
    if (!active[i]) continue;
    auto& learner = parts_.learners[i];
    const double rate = learning_rate(learner.optim.schedule, learner.optim.learning_rate,
                                      learner.schedule_steps, state_.progress.step);
    learner.parallel->step(rate);
    const auto suffix = suffix_of(i, learner);
    values["optim/learning_rate" + suffix] = rate;
    values["optim/grad_norm" + suffix] = reduced[i].gradient_norm;
    if (plan_.precision == Precision::fp16)
      values["optim/loss_scale" + suffix] = learner.parallel->loss_scale();
  }
}

void Trainer::skip_step(const std::vector<bool>& active, const Meeting& meeting, Values& values) {
  // An overflow under a loss scale is how the scale finds its size, not a fault of the numbers; but not where
  // there is no smaller scale to try.
  bool only_overflow = !meeting.votes.non_finite;
  Values scales;
  std::vector<std::string> steps_down;
  for (size_t i = 0; i < parts_.learners.size(); ++i) {
    if (!active[i]) continue;
    auto& learner = parts_.learners[i];
    const double before = learner.parallel->loss_scale();
    if (!meeting.reduced[i].finite && before <= least_loss_scale) only_overflow = false;
    learner.parallel->skip();
    if (plan_.precision != Precision::fp16) continue;
    const double after = learner.parallel->loss_scale();
    scales["optim/loss_scale" + suffix_of(i, learner)] = after;
    steps_down.push_back(text(before, " to ", after));
  }
  values.insert(scales.begin(), scales.end());
  const auto step = text("step ", state_.progress.step + 1);
  if (only_overflow) {
    parts_.tracker.event(moment(), "warning", scales,
                         text(step,
                              ": gradients are too large for float16 under the loss scale; all ranks skip "
                              "the step, and the scale goes from ",
                              join(steps_down, ", ")));
    return;
  }
  ++state_.non_finite_steps;
  const auto budget = parts_.config.train.non_finite_budget;
  const auto what = text(step, ": a loss or a gradient is not finite; all ranks skip the step (",
                         state_.non_finite_steps, " of at most ", budget, ")");
  parts_.tracker.event(moment(), "warning", scales, what);
  if (state_.non_finite_steps > budget) {
    fail(Exit::numerics, what,
         "lower optim.learning_rate, use precision fp32 or bf16, or look at the data of this step; the "
         "newest checkpoint is kept");
  }
}

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
  const auto together = cases.together();
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
