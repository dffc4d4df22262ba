#include "larmor/data/cache/cache_filling.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <ATen/core/grad_mode.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/cache/prepared_cache.h"
#include "larmor/data/loader/worker_thread.h"

namespace larmor {
namespace {

struct Task {
  const PreparableDataset* dataset = nullptr;
  int64_t number = 0;  // of the case
};

struct Outcome {
  uint64_t bytes = 0;
  std::string fault;
};

std::vector<Task> tasks_of(Datasets datasets) {
  std::vector<Task> tasks;
  for (const PreparableDataset* dataset : datasets) {
    for (int64_t number = 0; number < dataset->cases(); ++number) tasks.push_back({dataset, number});
  }
  return tasks;
}

/// The work of some threads: each takes the next example until none is left.
class Workshop {
 public:
  Workshop(const std::vector<Task>& tasks, std::vector<Outcome>& outcomes)
      : tasks_(tasks), outcomes_(outcomes) {}

  void work() {
    work_alone();
    const at::NoGradGuard no_gradients;
    for (std::size_t mine = next_++; mine < tasks_.size(); mine = next_++) {
      try {
        prepare(tasks_[mine], outcomes_[mine]);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        begin_no_more();
      }
      const std::lock_guard lock(mutex_);
      ++done_;
    }
    const std::lock_guard lock(mutex_);
    ++gone_;
    changed_.notify_all();
  }

  /// Until all `threads` have ended. What `progress` throws ends the work.
  void watch(int threads, const std::function<void(int64_t, int64_t)>& progress) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(250), [&] { return gone_ == threads; })) {
      const int64_t done = done_;
      lock.unlock();
      try {
        progress(done, static_cast<int64_t>(tasks_.size()));
      } catch (...) {
        begin_no_more();
        throw;
      }
      lock.lock();
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void begin_no_more() { next_ = tasks_.size(); }
  static void prepare(const Task& task, Outcome& outcome) {
    try {
      outcome.bytes = task.dataset->prepare(task.number);
    } catch (const Error& error) {
      if (error.exit() != Exit::data) throw;
      outcome.fault = reason_behind(task.dataset->case_name(task.number), error.message());
    }
  }

  const std::vector<Task>& tasks_;
  std::vector<Outcome>& outcomes_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  int64_t done_ = 0;
  int gone_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

std::string CacheForecast::sentence(uint64_t memory_bytes) const {
  std::string words = text("the prepared cache of ", cases, cases == 1 ? " case" : " cases", " takes about ",
                           human_bytes(needed_bytes), " in ", folder.string(), ", which may hold ",
                           human_bytes(budget_bytes), " and holds ", human_bytes(present_bytes));
  if (!fits()) {
    const double share = static_cast<double>(budget_bytes) / static_cast<double>(needed_bytes);
    return text(
        words, ": about ", static_cast<int64_t>(share * static_cast<double>(cases)),
        " of them fit, the others are prepared anew each time (raise data.budget, or data.cache=smart)");
  }
  if (needed_bytes > memory_bytes) {
    return text(words, "; that is more than the ", human_bytes(memory_bytes),
                " of memory, so each epoch reads from the disk");
  }
  return text(words, "; ", human_bytes(memory_bytes), " of memory hold it once it has been read");
}

CacheForecast forecast_cache(Datasets datasets) {
  CacheForecast forecast;
  for (const PreparableDataset* dataset : datasets) {
    forecast.cases += dataset->cases();
    for (int64_t number = 0; number < dataset->cases(); ++number) {
      try {
        forecast.needed_bytes += dataset->prepare(number) * static_cast<uint64_t>(dataset->cases());
        break;
      } catch (const Error& error) {
        if (error.exit() != Exit::data) throw;
      }
    }
    const auto place = dataset->cache_place();
    forecast.folder = place.folder;
    forecast.budget_bytes = place.budget_bytes;
    forecast.present_bytes = place.present_bytes;
  }
  return forecast;
}

CacheFilling fill_cache(Datasets datasets, int threads,
                        const std::function<void(int64_t, int64_t)>& progress) {
  const std::vector<Task> tasks = tasks_of(datasets);
  std::vector<Outcome> outcomes(tasks.size());
  Workshop workshop(tasks, outcomes);
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i) workers.emplace_back([&workshop] { workshop.work(); });
    workshop.watch(threads, progress);
  }
  CacheFilling filling;
  if (!datasets.empty()) filling.folder = datasets.front()->cache_place().folder;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    Outcome& outcome = outcomes[i];
    filling.bytes += outcome.bytes;
    if (!outcome.fault.empty()) {
      filling.bad.push_back({tasks[i].dataset->case_name(tasks[i].number), std::move(outcome.fault)});
    } else if (outcome.bytes > 0) {
      ++filling.kept;
    } else {
      ++filling.without_room;
    }
  }
  return filling;
}

CacheCleaning clean_cache(const DataConfig& data) {
  const auto storage = make_storage();
  PreparedCache cache(*storage, chosen_cache_folder(data));
  const auto removed = cache.clean();
  return {
      .folder = cache.folder(), .removed = removed.entries, .in_use = removed.in_use, .bytes = removed.bytes};
}

}  // namespace larmor
