#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "larmor/comm/backends.h"

namespace larmor {

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
    auto backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank.index, rank.count, options);
    backend->setSequenceNumberForGroup();
    // Connect here, where a failure still has a sentence, and not in the first collective.
    backend->eagerConnectSingleDevice(device);
    return backend;
  };
}

}  // namespace larmor
