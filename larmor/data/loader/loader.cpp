#include "larmor/data/loader/loader.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <pthread.h>

#include "larmor/base/clock.h"
#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/loader/batch_source.h"
#include "larmor/data/loader/worker_thread.h"

namespace larmor {
struct Loader::State {
  State(const Dataset& dataset, ExampleOrder order, const BatchSlice& slice_of_rank, int64_t start,
        const LoaderOptions& chosen);
  ~State();
  void start();
  void work();
  Prepared take();
  Prepared make_here();
  Batch accept(Prepared prepared);
  void add(const LoadSeconds& seconds);

  const BatchSlice slice;
  const int64_t consumed_before;
  const LoaderOptions options;
  BatchSource source;

  // The caller's thread alone.
  SystemClock clock;
  double wait_seconds = 0;
  int64_t delivered = 0;
  std::exception_ptr failure;
  std::vector<BadFile> quarantine;

  // Batch b waits in place b modulo the ring's size. Guarded by the mutex.
  std::mutex mutex;
  std::condition_variable room, ready;
  std::vector<std::optional<Prepared>> ring;
  int64_t claimed = 0, taken = 0;
  bool stopping = false;
  LoadSeconds stage_seconds{};

  std::vector<std::thread> workers;
};

Loader::State::State(const Dataset& dataset, ExampleOrder order, const BatchSlice& slice_of_rank,
                     int64_t start, const LoaderOptions& chosen)
    : slice(slice_of_rank),
      consumed_before(start),
      options(chosen),
      source(dataset, std::move(order), slice, start, options),
      ring(static_cast<size_t>(std::max({1, options.prefetch, options.workers}))) {}

// Not in the constructor: what has no constructor behind it has no destructor to join threads.
void Loader::State::start() {
  for (int i = 0; i < options.workers; ++i) {
    workers.emplace_back([this] { work(); });
    pthread_setname_np(workers.back().native_handle(), text("loader-", i).c_str());
  }
}

Loader::State::~State() {
  source.stop();
  {
    const std::lock_guard lock(mutex);
    stopping = true;
  }
  room.notify_all();
  for (std::thread& worker : workers) worker.join();
}

void Loader::State::work() {
  work_alone();
  LoadClock stages(options.goes_on);
  for (;;) {
    int64_t number = 0;
    {
      std::unique_lock lock(mutex);
      room.wait(lock, [this] { return stopping || claimed < taken + static_cast<int64_t>(ring.size()); });
      if (stopping) return;
      number = claimed++;
    }
    Prepared prepared = source.make(number);
    {
      const std::lock_guard lock(mutex);
      add(stages.take());
      ring[static_cast<size_t>(number) % ring.size()] = std::move(prepared);
    }
    ready.notify_one();
  }
}

void Loader::State::add(const LoadSeconds& seconds) {
  for (size_t i = 0; i < seconds.size(); ++i) stage_seconds[i] += seconds[i];
}

Prepared Loader::State::make_here() {
  LoadClock stages(options.goes_on);
  Prepared prepared = source.make(delivered);
  add(stages.take());
  return prepared;
}

Prepared Loader::State::take() {
  std::unique_lock lock(mutex);
  auto& place = ring[static_cast<size_t>(taken) % ring.size()];
  ready.wait(lock, [&place] { return place.has_value(); });
  Prepared prepared = std::move(*place);
  place.reset();
  ++taken;
  lock.unlock();
  room.notify_one();
  return prepared;
}

// Files are counted in the order of batches, not in that of workers: the run stops at the same batch
// whatever their number.
Batch Loader::State::accept(Prepared prepared) {
  for (BadFile& file : prepared.bad) {
    const auto same = [&file](const BadFile& known) { return known.path == file.path; };
    if (std::none_of(quarantine.begin(), quarantine.end(), same)) quarantine.push_back(std::move(file));
  }
  if (static_cast<int64_t>(quarantine.size()) > options.bad_files) {
    fail_over_budget(quarantine, options.bad_files);
  }
  if (prepared.error) std::rethrow_exception(prepared.error);
  ensure(prepared.batch.size() > 0);  // batches and the loader count bad files alike
  ++delivered;
  return std::move(prepared.batch);
}

Loader::Loader(const Dataset& dataset, ExampleOrder order, BatchSlice slice, int64_t consumed,
               const LoaderOptions& options)
    : state_(std::make_unique<State>(dataset, std::move(order), slice, consumed, options)) {
  state_->start();
}

Loader::~Loader() = default;

Batch Loader::next() {
  State& state = *state_;
  if (state.failure) std::rethrow_exception(state.failure);
  const double began = state.clock.steady_seconds();
  Prepared prepared = state.workers.empty() ? state.make_here() : state.take();
  state.wait_seconds += state.clock.steady_seconds() - began;
  try {
    return state.accept(std::move(prepared));
  } catch (...) {
    state.failure = std::current_exception();
    throw;
  }
}

const Batch* Loader::upcoming() const {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  const auto& place = state.ring[static_cast<size_t>(state.taken) % state.ring.size()];
  const bool is_ready = place && !state.failure && !place->error && place->batch.size() > 0;
  return is_ready ? &place->batch : nullptr;  // a worker fills no place that has not been emptied
}

double Loader::take_wait_seconds() { return std::exchange(state_->wait_seconds, 0.0); }

LoadSeconds Loader::take_stage_seconds() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->stage_seconds, {});
}

int64_t Loader::consumed() const {
  return state_->consumed_before + state_->delivered * state_->slice.micro_batch * state_->slice.ranks;
}

const std::vector<BadFile>& Loader::quarantine() const { return state_->quarantine; }

}  // namespace larmor
