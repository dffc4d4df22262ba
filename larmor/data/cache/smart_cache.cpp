#include "larmor/data/cache/smart_cache.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <pthread.h>

#include "larmor/base/error.h"
#include "larmor/data/loader/order.h"
#include "larmor/data/loader/worker_thread.h"

namespace larmor {

namespace {
// Other ranks may still be at the end of the last epoch when this one begins the next: as far apart as
// loaders work ahead. What they miss they make again, so it need not be exact.
constexpr int64_t examples_of_grace = 32;
}  // namespace

SmartCache::SmartCache(Parts parts, uint64_t seed)
    : parts_(std::move(parts)), seed_(seed), thread_([this] { work(); }) {
  pthread_setname_np(thread_.native_handle(), "smart-cache");
}

SmartCache::~SmartCache() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

PreparedExample SmartCache::get(const ExampleKey& key) {
  {
    const std::lock_guard lock(mutex_);
    if (key.epoch > newest_) {
      newest_ = key.epoch;
      asked_ = 0;
    }
    if (key.epoch == newest_) ++asked_;
  }
  changed_.notify_all();
  const std::string name = parts_.key_of(key.example);
  return parts_.cache.get(name, parts_.make(key.example, name));
}

bool SmartCache::is_outdated(int64_t newest) {
  const std::lock_guard lock(mutex_);
  return stopping_ || newest_ != newest;
}

bool SmartCache::fill(int64_t epoch, int64_t newest) {
  ExampleOrder order(seed_, parts_.window);
  std::vector<int64_t> wanted;
  for (int64_t place = 0; place < parts_.window.size(); ++place)
    wanted.push_back(order.at(epoch * parts_.window.size() + place).example);
  while (!wanted.empty()) {
    std::vector<int64_t> elsewhere;
    for (const int64_t example : wanted) {
      if (is_outdated(newest)) return false;
      if (!fill_one(example)) elsewhere.push_back(example);
    }
    // Several examples hash to one claim, so a busy claim does not prove that this example is being made.
    if (!elsewhere.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    wanted = std::move(elsewhere);
  }
  return true;
}

bool SmartCache::fill_one(int64_t example) {
  try {
    const std::string key = parts_.key_of(example);
    const auto filled = parts_.cache.fill(key, parts_.make(example, key));
    return filled != PreparedCache::Filled::somebody_is_at_it;
  } catch (const std::exception&) {
    return true;  // the worker whose turn it is meets the same, and says so
  }
}

void SmartCache::give_up_before(int64_t epoch) {
  if (!parts_.gives_up || epoch == 0) return;
  for (int64_t place = 0; place < parts_.window.size(); ++place) {
    const int64_t example = parts_.window.example(epoch - 1, place);
    if (parts_.window.holds(epoch, example)) continue;
    try {
      parts_.cache.drop(parts_.key_of(example));
    } catch (const Error&) {
      // It was never there.
    }
  }
}

void SmartCache::work() {
  work_alone();
  const at::NoGradGuard no_gradients;
  int64_t filled = -1;
  for (;;) {
    int64_t newest = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || newest_ > filled; });
      newest = newest_;
    }
    if (!fill(newest, newest)) {
      if (is_outdated(newest)) {
        const std::lock_guard lock(mutex_);
        if (stopping_) return;
      }
      continue;
    }
    {
      // The window's last epoch first makes room for the next one.
      std::unique_lock lock(mutex_);
      const int64_t enough = std::min(examples_of_grace, parts_.window.size() / 2);
      changed_.wait(lock, [&] { return stopping_ || newest_ != newest || asked_ >= enough; });
      if (stopping_) return;
      if (newest_ != newest) continue;
    }
    give_up_before(newest);
    if (fill(newest + 1, newest)) filled = newest;
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
  }
}

}  // namespace larmor
