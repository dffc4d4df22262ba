// Our exchange of gradients against libtorch's own c10d::Reducer: two ways to the same numbers.

#include <algorithm>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/nn.h>

#include "larmor/parallel/gradient_exchange.h"

#include "tests/comm/support/rank_threads.h"
#include "tests/parallel/support/small_net.h"
#include "tests/parallel/support/torch_replicas.h"

namespace larmor {
namespace {

using testing::SmallNet;
using testing::TorchReplicas;

constexpr int steps = 3;  // the Reducer cuts its buckets anew after the first

at::Tensor reducer_loss(SmallNet& net, int step, int rank) {
  at::set_num_threads(1);
  const at::Tensor batch = testing::make_batch(step * 7 + rank, 2, at::kFloat);
  return net->forward(batch, /*with_rare=*/true).square().mean();
}

std::vector<at::Tensor> take_gradients(SmallNet& net) {
  std::vector<at::Tensor> gradients;
  for (at::Tensor& parameter : net->parameters()) {
    gradients.push_back(parameter.grad().clone());
    parameter.mutable_grad() = at::Tensor();
  }
  return gradients;
}

at::Tensor flat(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& tensor : tensors) parts.push_back(tensor.flatten());
  return at::cat(parts);
}

std::vector<at::Tensor> gradients_by_reducer(const c10::intrusive_ptr<c10d::Store>& store, bool in_buckets,
                                             int rank, int size) {
  SmallNet net(1);
  TorchReplicas replicas(*net, store, rank, size, {.gradients_in_buckets = in_buckets, .bucket_bytes = 1024});
  std::vector<at::Tensor> all;
  for (int step = 0; step < steps; ++step) {
    replicas.begin_step();
    replicas.backward(reducer_loss(net, step, rank));
    for (auto& gradient : take_gradients(net)) all.push_back(gradient);
  }
  return all;
}

std::vector<at::Tensor> gradients_by_exchange(Communicator& communicator) {
  SmallNet net(1);
  std::vector<std::string> names;
  for (const auto& item : net->named_parameters()) names.push_back(item.key());
  GradientExchange exchange(net->parameters(), names, /*bucket_bytes=*/1024, Compression::none, communicator);
  std::vector<at::Tensor> all;
  for (int step = 0; step < steps; ++step) {
    exchange.backward(reducer_loss(net, step, communicator.rank()), /*last=*/true, {});
    const at::Tensor reduced = exchange.reduce().to(at::kDouble);
    exchange.read_reduced(reduced.const_data_ptr<double>());
    for (auto& gradient : take_gradients(net)) all.push_back(gradient);
    exchange.drop();
  }
  return all;
}

/// The largest difference of any gradient, relative to the largest gradient.
double difference_from_reducer(int size, bool in_buckets) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<double> of_rank(static_cast<size_t>(size));
  testing::run_gloo_ranks(size, [&](Communicator& communicator) {
    const at::Tensor ours = flat(gradients_by_exchange(communicator));
    const at::Tensor theirs = flat(gradients_by_reducer(store, in_buckets, communicator.rank(), size));
    const double scale = theirs.abs().max().item<double>();
    EXPECT_GT(scale, 0.01) << "gradients of nothing but zeros compare nothing";
    of_rank[static_cast<size_t>(communicator.rank())] = (ours - theirs).abs().max().item<double>() / scale;
  });
  return *std::max_element(of_rank.begin(), of_rank.end());
}

TEST(GradientExchange, GivesTwoRanksTheGradientsOfTheReducerBitForBit) {
  // A sum of two has one order only, and half of it is exact.
  EXPECT_EQ(difference_from_reducer(2, /*in_buckets=*/false), 0);
  EXPECT_EQ(difference_from_reducer(2, /*in_buckets=*/true), 0);
}

TEST(GradientExchange, GivesThreeRanksTheGradientsOfTheReducer) {
  EXPECT_LT(difference_from_reducer(3, /*in_buckets=*/false), 1e-6);
}

}  // namespace
}  // namespace larmor
