#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "larmor/comm/backends.h"

namespace larmor {
namespace {

/// Adds what c10d's class lacks: ranks whose peer aborts the group, or has an error of NCCL, give up, too.
/// NCCL's own abort is one rank's, and peers on GPUs wait on.
class Nccl final : public c10d::ProcessGroupNCCL {
 public:
  Nccl(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
       const c10::intrusive_ptr<Options>& options)
      : ProcessGroupNCCL(store, rank, size, options),
        signals_(store->clone()),
        watcher_([this](const std::stop_token& end) { watch(end); }) {}
  ~Nccl() override { end_watch(); }

  void abort() override {
    end_watch();
    try {
      signals_->set(aborted, "1");
    } catch (const std::exception&) {
      // The store is lost, and with it the run: the agent will see to the peers.
    }
    ProcessGroupNCCL::abort();
  }
  void shutdown() override {
    end_watch();
    ProcessGroupNCCL::shutdown();
  }

 private:
  static constexpr const char* aborted = "aborted";
  static constexpr std::chrono::milliseconds interval{500};

  void watch(const std::stop_token& end) {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, end, interval, [] { return false; }) && !end.stop_requested()) {
      try {
        const bool is_sound = getError() == c10d::ErrorType::SUCCESS;
        if (is_sound && !signals_->check({aborted})) continue;
      } catch (const std::exception&) {
        return;
      }
      ProcessGroupNCCL::abort();
      return;
    }
  }
  void end_watch() {
    if (!watcher_.joinable() || watcher_.get_id() == std::this_thread::get_id()) return;
    watcher_.request_stop();
    watcher_.join();
  }

  c10::intrusive_ptr<c10d::Store> signals_;  // a connection of its own: others wait in theirs
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread watcher_;
};

}  // namespace

MakeBackend nccl_backends(const RankStore& rank_store, const Rank& rank, int device_index,
                          std::chrono::milliseconds limit) {
  return [=](const std::string& group) -> c10::intrusive_ptr<c10d::Backend> {
    const c10::Device device(c10::kCUDA, static_cast<c10::DeviceIndex>(device_index));
    c10::cuda::set_device(device.index());
    auto options = c10d::ProcessGroupNCCL::Options::create();
    // A collective that overstays ends the process from libtorch's watchdog: its wait() returns at once,
    // because it only orders streams. The launcher reports the rank.
    options->timeout = limit;
    options->group_name = group;
    const auto store = c10::make_intrusive<c10d::PrefixStore>(group, rank_store.store);
    auto backend = c10::make_intrusive<Nccl>(store, rank.index, rank.count, options);
    backend->setSequenceNumberForGroup();
    // Connect here, where a failure still has a sentence, and not in the first collective.
    backend->eagerConnectSingleDevice(device);
    return backend;
  };
}

}  // namespace larmor
