// The field's data parallelism, for comparison: libtorch's own c10d::Reducer over Gloo, set up as Python's
// DistributedDataParallel does it.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/nn/module.h>

namespace larmor::testing {

struct TorchReplicasOptions {
  bool gradients_in_buckets = false;         // DDP's gradient_as_bucket_view
  int64_t bucket_bytes = int64_t{25} << 20;  // after the first step; DDP's default
};

class TorchReplicas {
 public:
  /// Over loopback. Rank 0's weights win. Borrows the module, whose parameters all have to get a gradient in
  /// every step. Collective.
  TorchReplicas(torch::nn::Module& module, const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                const TorchReplicasOptions& options = {});
  ~TorchReplicas();
  TorchReplicas(const TorchReplicas&) = delete;
  TorchReplicas& operator=(const TorchReplicas&) = delete;

  /// Before the forward of a step. Collective.
  void begin_step();
  /// Leaves the mean of the ranks' gradients in the parameters. Collective.
  void backward(const at::Tensor& loss);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace larmor::testing
