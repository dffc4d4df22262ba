// Staging, the commit beside training, and what a failed save means.
#include <atomic>
#include <exception>
#include <thread>
#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/checkpoint/commit.h"

namespace larmor {

struct CheckpointWriter::State {
  std::filesystem::path folder;
  Storage& storage;
  // Of the commits alone, so that they may overlap training's; on the host, where no stream makes them wait
  // for it.
  std::unique_ptr<Communicator> group;
  CheckpointOptions options;
  TellOutcome tell;
  WholeCheckpoints whole;
  SystemClock clock;
  std::thread thread;
  std::atomic<bool> has_ended = false;  // the commit, whose thread is not joined yet
  SaveOutcome in_flight;                // valid once the thread is joined
  std::exception_ptr error;
  int failures_in_a_row = 0;
  std::vector<SaveOutcome> outcomes;

  // Commits and notes the outcome; runs on the save's own thread or the caller's.
  void run(const Snapshot& staged, double staged_seconds) {
    const double start = clock.steady_seconds();
    try {
      in_flight = {.step = staged.step};
      in_flight = commit(staged, {folder, storage, *group, options, whole});
      in_flight.epoch = staged.epoch;
      in_flight.examples = staged.examples;
      in_flight.seconds = clock.steady_seconds() - start;
      in_flight.staged_seconds = staged_seconds;
      has_ended = true;  // before anybody is told: whoever has heard of it finds it so
      if (tell) tell(in_flight);
    } catch (...) {
      error = std::current_exception();
    }
    has_ended = true;
  }

  // Takes the outcome of a commit that has ended. `last`: there is no later save to make up for a failure.
  void settle(bool last) {
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
    outcomes.push_back(in_flight);
    if (in_flight.committed) {
      failures_in_a_row = 0;
      return;
    }
    ++failures_in_a_row;
    if (last || failures_in_a_row > options.failures_allowed) {
      fail(Exit::environment,
           text("checkpoint of step ", in_flight.step, " could not be saved",
                last ? "" : text(", ", failures_in_a_row, " failures in a row"), ": ", in_flight.warning),
           "free space in the run folder's file system, or of your quota there, then run `larmor train RUN` "
           "to go on from the last good checkpoint");
    }
  }

  void join(bool last) {
    if (!thread.joinable()) return;
    thread.join();
    settle(last);
  }

  // What nobody will ask for any more.
  void log_failure() {
    try {
      settle(/*last=*/true);
    } catch (const std::exception& failure) {
      log::error(text("the save of step ", in_flight.step, " has failed: ", failure.what()));
    }
  }
};

namespace {

// A copy on the host that training can no longer change.
Snapshot stage(const Snapshot& live) {
  Snapshot staged = live;
  for (auto& [file, tensors] : staged.files) {
    for (auto& [name, tensor] : tensors) {
      const auto host = tensor.detach().to(at::kCPU).contiguous();
      tensor = host.is_alias_of(tensor) ? host.clone() : host;
    }
  }
  return staged;
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::filesystem::path folder, Storage& storage, Communicator& communicator,
                                   const CheckpointOptions& options, TellOutcome tell)
    : state_(new State{.folder = std::move(folder),
                       .storage = storage,
                       .group = communicator.duplicate_on_host(),
                       .options = options,
                       .tell = std::move(tell),
                       .whole = {},
                       .clock = {},
                       .thread = {},
                       .has_ended = false,
                       .in_flight = {},
                       .error = {},
                       .failures_in_a_row = 0,
                       .outcomes = {}}) {
  if (options.resumed_from) state_->whole.remember(*options.resumed_from);
}

CheckpointWriter::~CheckpointWriter() {
  if (!state_->thread.joinable()) return;
  if (!state_->has_ended) state_->group->abort();
  state_->thread.join();
  state_->log_failure();
}

void CheckpointWriter::save(const Snapshot& snapshot, bool last) {
  state_->join(/*last=*/false);
  const double start = state_->clock.steady_seconds();
  auto staged = stage(snapshot);
  const double staged_seconds = state_->clock.steady_seconds() - start;
  state_->has_ended = false;
  if (state_->options.async && !last) {
    state_->thread = std::thread([state = state_.get(), staged = std::move(staged), staged_seconds] {
      state->run(staged, staged_seconds);
    });
    return;
  }
  state_->run(staged, staged_seconds);
  state_->settle(last);
}

bool CheckpointWriter::is_saving() const { return state_->thread.joinable() && !state_->has_ended; }

bool CheckpointWriter::has_ended() const { return state_->thread.joinable() && state_->has_ended; }

void CheckpointWriter::settle() { state_->join(/*last=*/false); }

std::vector<SaveOutcome> CheckpointWriter::take_outcomes() { return std::exchange(state_->outcomes, {}); }

void CheckpointWriter::finish() { state_->join(/*last=*/true); }

}  // namespace larmor
