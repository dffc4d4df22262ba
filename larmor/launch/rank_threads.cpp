#include "larmor/launch/rank_threads.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include <pthread.h>
#include <sched.h>

#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/launch/rank_lost.h"

namespace larmor {
namespace {

struct ThreadFailure {
  size_t rank = 0;
  std::exception_ptr what;
};

/// Thread-safe.
class ThreadLives {
 public:
  explicit ThreadLives(size_t count) : living_(count) {}

  void fail(ThreadFailure failure) {
    const std::lock_guard lock(mutex_);
    failures_.push_back(std::move(failure));
  }
  void end() {
    const std::lock_guard lock(mutex_);
    living_ -= 1;
    changed_.notify_all();
  }
  /// Blocks until all have ended, or for so long after the first failure. Whether all have.
  bool wait(double grace_seconds) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return living_ == 0 || !failures_.empty(); });
    return changed_.wait_for(lock, std::chrono::duration<double>(grace_seconds),
                             [&] { return living_ == 0; });
  }
  /// Null when none failed.
  std::exception_ptr cause() {
    const std::lock_guard lock(mutex_);
    if (failures_.empty()) return nullptr;
    auto first = std::find_if(failures_.begin(), failures_.end(),
                              [](const ThreadFailure& failure) { return !is_rank_lost(failure.what); });
    if (first == failures_.end()) first = failures_.begin();
    log::error(text("rank ", first->rank, " was the first that failed"));
    return first->what;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t living_;
  std::vector<ThreadFailure> failures_;  // in the order in which they came
};

/// What it starts is bound as it is.
void bind_this_thread(const std::vector<int>& cores) {
  cpu_set_t allowed, own;
  CPU_ZERO(&own);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  for (const int core : cores) {
    if (core < 0 || core >= CPU_SETSIZE || !CPU_ISSET(static_cast<size_t>(core), &allowed)) return;
    CPU_SET(static_cast<size_t>(core), &own);
  }
  if (!cores.empty() && sched_setaffinity(0, sizeof(own), &own) != 0)
    log::warning(text("this rank is not bound to its cores: ", std::strerror(errno)));
}

void live_as_rank(const RankThread& thread, size_t rank, ThreadLives& lives) {
  const std::string name = text("rank ", rank);
  pthread_setname_np(pthread_self(), name.c_str());
  log::name_thread(name);
  bind_this_thread(thread.cores);
  try {
    thread.live();
  } catch (...) {
    lives.fail({.rank = rank, .what = std::current_exception()});
  }
  lives.end();
}

}  // namespace

void run_rank_threads(const std::vector<RankThread>& ranks, double grace_seconds,
                      const std::function<void(std::exception_ptr)>& give_up) {
  ThreadLives lives(ranks.size());
  std::vector<std::jthread> threads;
  try {
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      threads.emplace_back([&, rank] { live_as_rank(ranks[rank], rank, lives); });
  } catch (...) {  // the system has no more threads, and those before would wait for them
    give_up(std::current_exception());
    std::abort();
  }
  if (!lives.wait(grace_seconds)) {
    give_up(lives.cause());
    std::abort();
  }
  threads.clear();
  if (const auto cause = lives.cause()) std::rethrow_exception(cause);
}

}  // namespace larmor
