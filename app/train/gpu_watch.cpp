#include "app/train/gpu_watch.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "larmor/base/log.h"
#include "larmor/base/process/signal_mask.h"
#include "larmor/base/text.h"
#include "larmor/hardware/gpu_health.h"

namespace larmor::app {

namespace {

constexpr auto between_looks = std::chrono::seconds(1), longest_last_look = std::chrono::seconds(3);

}  // namespace

/// The thread may outlive the watch: a driver whose GPU is lost need not answer at all.
struct GpuWatch::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_over = false, has_ended = false;
  std::vector<std::string> reasons;

  void watch(const std::vector<Gpu>& gpus);
  void look(GpuHealth& health);
};

void GpuWatch::Shared::look(GpuHealth& health) {
  for (const GpuTrouble& trouble : health.take_news()) {
    log::warning(trouble.words);
    const std::lock_guard lock(mutex);
    if (trouble.is_end) reasons.push_back(trouble.words);
  }
}

void GpuWatch::Shared::watch(const std::vector<Gpu>& gpus) {
  GpuHealth health(gpus);
  for (bool goes_on = true; goes_on;) {
    {
      std::unique_lock lock(mutex);
      goes_on = !changed.wait_for(lock, between_looks, [&] { return is_over; });
    }
    look(health);
  }
  const std::lock_guard lock(mutex);
  has_ended = true;
  changed.notify_all();
}

GpuWatch::GpuWatch(const std::vector<Gpu>& gpus) {
  if (gpus.empty()) return;
  shared_ = std::make_shared<Shared>();
  // Signals are for the thread that waits for the ranks.
  const SignalsBlocked held = SignalsBlocked::all();
  std::thread([shared = shared_, gpus] { shared->watch(gpus); }).detach();
}

GpuWatch::~GpuWatch() { finish(); }

std::string GpuWatch::finish() {
  if (!shared_) return {};
  const auto shared = std::exchange(shared_, nullptr);
  std::unique_lock lock(shared->mutex);
  shared->is_over = true;
  shared->changed.notify_all();
  shared->changed.wait_for(lock, longest_last_look, [&] { return shared->has_ended; });
  return join(shared->reasons, "; ");
}

}  // namespace larmor::app
