// Graphs of a card, as libtorch captures and replays them: a replay gives what a plain pass gives, a capture
// takes no effect, and what no graph can hold is refused.
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "tests/gpu_emulation/runtime/counters.h"
#include "tests/gpu_emulation/support/captured_stream.h"

namespace emulated::testing {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

const char* const disorder = "emulated GPU: out of order: .* and nothing orders the two";

/// On the default stream, and waits.
void replay(CUDAGraph& graph) {
  graph.replay();
  c10::cuda::device_synchronize();
}

int64_t bytes_in_use() { return allocator::getDeviceStats(0).allocated_bytes[0].current; }
int64_t reserved_bytes() {
  allocator::emptyCache();
  return allocator::getDeviceStats(0).reserved_bytes[0].current;
}

/// A loss of a small network, and the gradients of its weights.
std::vector<at::Tensor> pass(const at::Tensor& image, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor features = at::silu(at::conv3d(image, weight, bias, 1, 1));
  const at::Tensor pooled = at::max_pool3d(features, 2).to(at::kFloat);
  const at::Tensor loss = (at::softmax(pooled, 1) * pooled).pow(2).mean();
  auto all = torch::autograd::grad({loss}, {weight, bias});
  all.push_back(loss.detach());
  return all;
}

struct Network {
  explicit Network(at::ScalarType type = at::kFloat)
      : image(at::rand({2, 1, 8, 8, 8}, on_gpu).to(type)),
        weight(at::randn({4, 1, 3, 3, 3}, on_gpu).to(type).requires_grad_()),
        bias(at::randn({4}, on_gpu).to(type).requires_grad_()) {}
  std::vector<at::Tensor> run() const { return pass(image, weight, bias); }

  at::Tensor image, weight, bias;
};

bool are_equal(const std::vector<at::Tensor>& some, const std::vector<at::Tensor>& others) {
  bool equal = some.size() == others.size();
  for (size_t i = 0; equal && i < some.size(); ++i) equal = at::equal(some[i], others[i]);
  return equal;
}

TEST_F(GraphCapture, AReplayComputesWhatItsInputsHoldNow) {
  const at::Tensor input = at::ones({numbers}, on_gpu);
  at::Tensor sum, copy, conjugate, doubled;
  CUDAGraph graph;
  capture(graph, [&] {
    sum = (input * 2 + at::scalar_tensor(1)).sum();
    copy = input.clone();
    doubled = sum * 2.0;
    conjugate = at::complex(input, input + 1).conj() * 2;
  });
  for (const float value : {1.F, 5.F, -3.F}) {
    input.fill_(value);
    replay(graph);
    EXPECT_EQ(sum.item<float>(), numbers * (2 * value + 1));
    EXPECT_TRUE(at::equal(copy, input));
    EXPECT_TRUE(at::equal(doubled, sum * 2));
    EXPECT_TRUE(at::equal(conjugate, at::complex(2 * input, -2 * (input + 1))));
  }
}

TEST_F(GraphCapture, NothingTakesEffectBeforeTheFirstReplay) {
  const at::Tensor outside = at::ones({numbers}, on_gpu), zeroed = at::ones({numbers}, on_gpu);
  at::Tensor result, changed;
  const uint64_t kernels = counters().kernels;
  CUDAGraph graph;
  capture(graph, [&] {
    outside.add_(1);
    zeroed.zero_();
    outside.narrow(0, 0, 10).mul_(2);
    zeroed.copy_(outside);
    result = outside * 3;
    changed = (outside + 1).add_(zeroed);
  });
  EXPECT_LE(counters().kernels - kernels, 2U) << "libtorch keeps a seed and a place among the draws";
  EXPECT_TRUE(at::equal(outside, at::ones({numbers}, on_gpu)));
  EXPECT_TRUE(at::equal(zeroed, outside));
  EXPECT_TRUE(result.isnan().all().item<bool>());
  EXPECT_TRUE(changed.isnan().all().item<bool>());
  replay(graph);
  EXPECT_EQ(outside.sum().item<float>(), 2 * (numbers + 10));
  EXPECT_EQ(result.sum().item<float>(), 6 * (numbers + 10));
  EXPECT_EQ(changed.sum().item<float>(), 4 * (numbers + 10) + numbers);
}

TEST_F(GraphCapture, ForwardAndBackwardGiveTheBitsOfAPlainPass) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
    const Network network(type);
    std::vector<at::Tensor> captured;
    CUDAGraph graph;
    capture(graph, [&] { captured = network.run(); });
    for (int turn = 0; turn < 3; ++turn) {
      network.image.normal_();
      replay(graph);
      EXPECT_TRUE(are_equal(captured, network.run())) << type << ", " << turn;
      EXPECT_FALSE(captured[0].isnan().any().item<bool>()) << type;
      const at::NoGradGuard no_gradients;
      network.weight.sub_(captured[0]);
    }
  }
}

TEST_F(GraphCapture, ABackwardPassAddsToGradientsThatWereThereBefore) {
  const Network network;
  network.weight.mutable_grad() = at::ones_like(network.weight);
  CUDAGraph graph;
  capture(graph, [&] { at::conv3d(network.image, network.weight).pow(3).sum().backward(); });
  EXPECT_TRUE(at::equal(network.weight.grad(), at::ones_like(network.weight)));
  const at::Tensor expected = at::ones_like(network.weight);
  for (int turn = 0; turn < 3; ++turn) {
    network.image.normal_();
    replay(graph);
    const at::Tensor plain = at::conv3d(network.image, network.weight).pow(3).sum();
    const at::NoGradGuard no_gradients;
    expected.add_(torch::autograd::grad({plain}, {network.weight})[0]);
  }
  EXPECT_TRUE(at::equal(network.weight.grad(), expected));
}

TEST_F(GraphCapture, DrawsOfAReplayAreThoseOfAPlainPass) {
  const auto draw = [] { return at::randn({numbers}, on_gpu) + at::rand({numbers}, on_gpu); };
  at::Tensor drawn;
  CUDAGraph graph;
  capture(graph, [&] { drawn = draw(); });
  std::vector<at::Tensor> plain, replayed;
  at::manual_seed(7);
  for (int turn = 0; turn < 3; ++turn) plain.push_back(draw());
  at::manual_seed(7);
  replayed.push_back(draw());
  for (int turn = 0; turn < 2; ++turn) {
    replay(graph);
    replayed.push_back(drawn.clone());
  }
  EXPECT_TRUE(are_equal(plain, replayed));
  EXPECT_FALSE(at::equal(plain[1], plain[2]));
}

TEST_F(GraphCapture, TwoGraphsHavePoolsOfTheirOwn) {
  const Network one, two;
  std::vector<at::Tensor> of_one, of_two;
  CUDAGraph first, second;
  capture(first, [&] { of_one = one.run(); });
  capture(second, [&] { of_two = two.run(); });
  EXPECT_NE(first.pool(), second.pool());
  replay(second);
  replay(first);
  EXPECT_TRUE(are_equal(of_one, one.run()));
  EXPECT_TRUE(are_equal(of_two, two.run()));
}

TEST_F(GraphCapture, AForwardAndItsBackwardMayBeTwoGraphsOfOnePool) {
  const Network network;
  const auto pool = at::cuda::graph_pool_handle();
  at::Tensor loss;
  std::vector<at::Tensor> gradients;
  CUDAGraph forward, backward;
  capture(forward, [&] { loss = at::conv3d(network.image, network.weight).pow(3).sum(); }, pool);
  capture(backward, [&] { gradients = torch::autograd::grad({loss}, {network.weight}); }, pool);
  network.image.normal_();
  forward.replay();
  replay(backward);
  const c10::cuda::CUDAStreamGuard guard(capturing());  // where its weight was used first
  const at::Tensor plain = at::conv3d(network.image, network.weight).pow(3).sum();
  EXPECT_TRUE(at::equal(plain, loss));
  EXPECT_TRUE(are_equal(torch::autograd::grad({plain}, {network.weight}), gradients));
}

TEST_F(GraphCapture, MemoryOfAGraphIsItsOwnForLife) {
  const at::Tensor input = at::ones({16 * megabytes}, on_gpu);
  const int64_t before = reserved_bytes();
  {
    at::Tensor sum;
    CUDAGraph graph;
    capture(graph, [&] { sum = (input * 2).sum(); });
    EXPECT_GT(reserved_bytes(), before + 16 * megabytes * 4 - 1)
        << "no result of it is left, and it needs them";
    const int64_t in_use = bytes_in_use(), allocations = static_cast<int64_t>(counters().allocations);
    allocator::resetPeakStats(0);
    replay(graph);
    EXPECT_EQ(allocator::getDeviceStats(0).allocated_bytes[0].peak, in_use) << "a replay takes no memory";
    EXPECT_EQ(counters().allocations, allocations);
    EXPECT_EQ(sum.item<float>(), 2.F * 16 * megabytes);
  }
  EXPECT_EQ(reserved_bytes(), before);
}

TEST_F(GraphCapture, ALaunchIsOneCallOfTheHost) {
  const Network network;
  CUDAGraph graph;
  capture(graph, [&] { network.run(); });
  const uint64_t kernels = counters().kernels, launches = counters().graph_launches,
                 waits = counters().host_waits;
  graph.replay();
  graph.replay();
  EXPECT_EQ(counters().kernels, kernels);
  EXPECT_EQ(counters().graph_launches, launches + 2);
  EXPECT_EQ(counters().host_waits, waits);
}

TEST_F(GraphCapture, MemoryThatNothingWritesIsPoisonInEachReplay) {
  const at::Tensor outside = at::ones({numbers}, on_gpu);
  at::Tensor kept, seen;
  CUDAGraph graph;
  capture(graph, [&] {
    kept = at::empty({numbers}, on_gpu);
    seen = kept + outside;
    kept.copy_(outside);
  });
  replay(graph);
  replay(graph);
  EXPECT_TRUE(at::equal(kept, outside));
  EXPECT_TRUE(seen.isnan().all().item<bool>()) << "a card's holds the numbers of the replay before";
}

TEST_F(GraphCapture, OtherThreadsGoOnMeanwhile) {
  const at::Tensor input = at::ones({numbers}, on_gpu);
  at::Tensor sum;
  float loaded = 0;
  CUDAGraph graph;
  capture(graph, [&] {
    sum = input.sum();
    std::thread([&] {
      const c10::cuda::CUDAStreamGuard guard(other());
      const at::Tensor batch = at::full({numbers}, 3.F).pin_memory().to(on_gpu.device(), true);
      loaded = batch.mean().item<float>();
    }).join();
  });
  EXPECT_EQ(loaded, 3);
  replay(graph);
  EXPECT_EQ(sum.item<float>(), numbers);
}

TEST_F(GraphCaptureDeathTest, AReplayThatReadsWhatAnotherStreamWritesWithoutAnEvent) {
  const auto run = [](bool with_event) {
    const at::Tensor input = at::ones({numbers}, on_gpu);
    at::Tensor sum;
    CUDAGraph graph;
    capture(graph, [&] { sum = input.sum(); });
    input.fill_(2);
    at::cuda::CUDAEvent event;
    event.record();
    const c10::cuda::CUDAStreamGuard guard(other());
    if (with_event) event.block(other());
    graph.replay();
    EXPECT_EQ(sum.item<float>(), 2 * numbers);
  };
  run(/*with_event=*/true);
  EXPECT_DEATH(run(/*with_event=*/false), disorder);
}

TEST_F(GraphCaptureDeathTest, AReplayWhoseMemoryWasGivenBack) {
  const auto run = [](int64_t size, bool to_the_driver) {
    at::Tensor input = at::ones({size}, on_gpu), sum;
    CUDAGraph graph;
    capture(graph, [&] { sum = input.sum(); });
    input.reset();
    if (to_the_driver) allocator::emptyCache();
    graph.replay();
  };
  EXPECT_DEATH(run(16 * megabytes, /*to_the_driver=*/true), "reads .* bytes of memory that was given back");
  EXPECT_DEATH(run(numbers, /*to_the_driver=*/false),
               "aten::sum uses 4000 bytes of memory that was given back");
}

TEST_F(GraphCaptureDeathTest, AnotherStreamThatReadsWhatACaptureRecordsAsWritten) {
  const at::Tensor outside = at::ones({numbers}, on_gpu);
  const auto run = [&](bool within) {
    CUDAGraph graph;
    capture(graph, [&] {
      if (!within) return;
      outside.add_(1);
      const c10::cuda::CUDAStreamGuard guard(other());
      static_cast<void>(outside.sum());
    });
  };
  run(/*within=*/false);
  EXPECT_DEATH(run(/*within=*/true), "aten::sum .* which has not ended, records that they are written");
}

/// In a process whose cards compute nothing.
TEST_F(GraphCaptureDeathTest, HollowCardsCaptureLargeGraphs) {
  const auto run = [] {
    const at::Tensor image = at::empty({1, 8, 256, 256, 256}, on_gpu);
    const at::Tensor weight = at::empty({8, 8, 3, 3, 3}, on_gpu).requires_grad_();
    const at::Tensor count = at::zeros({1}, on_gpu);
    std::vector<at::Tensor> all;
    CUDAGraph graph;
    capture(graph, [&] {
      all = pass(image, weight, at::zeros({8}, on_gpu).requires_grad_());
      count.add_(1);
    });
    const bool had_no_effect = count.item<float>() == 0;
    allocator::resetPeakStats(0);
    const int64_t in_use = bytes_in_use();
    replay(graph);
    replay(graph);
    const bool took_none = allocator::getDeviceStats(0).allocated_bytes[0].peak == in_use;
    std::exit(had_no_effect && took_none && count.item<float>() == 2 && all[0].sizes() == weight.sizes() ? 0
                                                                                                         : 1);
  };
  setenv("EMULATED_HOLLOW", "1", 1);
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
  unsetenv("EMULATED_HOLLOW");
}

}  // namespace
}  // namespace emulated::testing
