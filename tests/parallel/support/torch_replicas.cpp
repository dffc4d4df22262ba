#include "tests/parallel/support/torch_replicas.h"

#include <algorithm>
#include <limits>

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

namespace larmor::testing {
namespace {

c10::intrusive_ptr<c10d::ProcessGroup> make_gloo_group(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                       int size) {
  auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::minutes(5));
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, size);
  group->setBackend(c10::kCPU, c10d::ProcessGroup::BackendType::GLOO,
                    c10::intrusive_ptr<c10d::Backend>(
                        c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, options)));
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  group->setGroupName("torch_replicas");
  return group;
}

}  // namespace

struct TorchReplicas::State {
  c10::intrusive_ptr<c10d::ProcessGroup> group;
  std::shared_ptr<c10d::Reducer> reducer;
  std::shared_ptr<c10d::Logger> logger;
};

TorchReplicas::TorchReplicas(torch::nn::Module& module, const c10::intrusive_ptr<c10d::Store>& store,
                             int rank, int size, const TorchReplicasOptions& options)
    : state_(std::make_unique<State>()) {
  state_->group = make_gloo_group(store, rank, size);
  std::vector<at::Tensor> parameters;
  std::unordered_map<size_t, std::string> names;
  for (const auto& item : module.named_parameters()) {
    names.emplace(parameters.size(), item.key());
    parameters.push_back(item.value());
  }
  c10d::verify_params_across_processes(state_->group, parameters, std::nullopt);
  {
    const torch::NoGradGuard no_grad;
    c10d::broadcast_coalesced(state_->group, parameters, size_t{250} << 20, 0);
  }
  // One bucket at first, because it is cut anew after the first step.
  auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(
      parameters, {static_cast<size_t>(std::numeric_limits<int64_t>::max())},
      std::vector<bool>(parameters.size(), false));
  std::reverse(buckets.begin(), buckets.end());
  const int64_t first_bytes = std::min<int64_t>(options.bucket_bytes, c10d::kDefaultFirstBucketBytes);
  state_->reducer = std::make_shared<c10d::Reducer>(
      parameters, buckets, state_->group, std::vector<bool>(parameters.size(), false), options.bucket_bytes,
      /*find_unused_parameters=*/false, options.gradients_in_buckets, names, first_bytes,
      /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false, std::vector<int64_t>{});
  state_->logger = std::make_shared<c10d::Logger>(state_->reducer);
  state_->reducer->set_logger(state_->logger);
  state_->logger->set_construction_data_and_log("larmor", {}, -1, /*broadcast_buffers=*/false,
                                                /*has_sync_bn=*/false, /*static_graph=*/false);
}

TorchReplicas::~TorchReplicas() {
  state_->logger.reset();
  state_->reducer.reset();
}

void TorchReplicas::begin_step() {
  state_->logger->set_runtime_stats_and_log();
  state_->reducer->prepare_for_forward();
  state_->reducer->rebuild_buckets();
}

void TorchReplicas::backward(const at::Tensor& loss) {
  state_->reducer->prepare_for_backward({});
  torch::autograd::backward({loss}, {});
}

}  // namespace larmor::testing
