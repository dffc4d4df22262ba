// What no graph can hold is refused by name while it is captured, nothing of the capture takes effect, and
// the process computes on.
#include <functional>
#include <string>
#include <thread>

#include <ATen/ATen.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include "tests/gpu_emulation/support/captured_stream.h"

namespace emulated::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
namespace allocator = c10::cuda::CUDACachingAllocator;
using GraphRefusals = GraphCapture;

// What libtorch leaves undone when a capture fails: the pool stays open, and the generator takes all draws
// for a capture's until one has ended well.
void recover(c10::MempoolId_t pool) {
  allocator::endAllocateToPool(0, pool);
  allocator::releasePool(0, pool);
  at::getHostAllocator(c10::kCUDA)->end_allocate_to_pool(pool);
  at::getHostAllocator(c10::kCUDA)->release_pool(pool);
  CUDAGraph empty;
  capture(empty, [] { at::empty({1}, on_gpu).zero_(); });
}

/// The error of what is refused in a capture, and what the double says of it.
std::string refusal(const std::function<void()>& refused) {
  const at::Tensor outside = at::ones({numbers}, on_gpu);
  const auto pool = at::cuda::graph_pool_handle();
  c10::cuda::device_synchronize();
  std::string words;
  CUDAGraph graph;
  ::testing::internal::CaptureStderr();
  {
    const c10::cuda::CUDAStreamGuard guard(capturing());
    graph.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
    outside.add_(1);
    try {
      refused();
    } catch (const c10::Error& error) {
      words = error.what_without_backtrace();
    }
    auto status = cudaStreamCaptureStatusActive;
    cudaStreamIsCapturing(capturing(), &status);
    if (status == cudaStreamCaptureStatusActive) {
      graph.capture_end();
      return words + ::testing::internal::GetCapturedStderr() + "nothing was refused";
    }
    EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated);
    EXPECT_THAT([&] { outside.add_(1); },
                ThrowsMessage<c10::Error>(HasSubstr("previous error during capture")));
    EXPECT_THAT([&] { graph.capture_end(); },
                ThrowsMessage<c10::Error>(HasSubstr("previous error during capture")));
  }
  words += ::testing::internal::GetCapturedStderr();
  recover(pool);
  EXPECT_EQ(outside.sum().item<float>(), numbers) << "nothing took effect";
  EXPECT_EQ(at::rand({numbers}, on_gpu).add_(1).gt(0).sum().item<int64_t>(), numbers) << "it computes on";
  return words;
}

constexpr auto unsupported = "operation not permitted when stream is capturing";

TEST_F(GraphRefusals, AHostThatWaitsIsRefused) {
  at::cuda::CUDAEvent before, within;
  before.record(capturing());
  const auto expect = [](const std::string& name, const std::function<void()>& wait) {
    EXPECT_THAT(refusal(wait), AllOf(HasSubstr(name), HasSubstr("not permitted"))) << name;
  };
  expect("cudaStreamSynchronize", [] { capturing().synchronize(); });
  expect("cudaStreamSynchronize", [] { other().synchronize(); });
  expect("cudaStreamQuery", [] { static_cast<void>(capturing().query()); });
  expect("cudaDeviceSynchronize", [] { c10::cuda::device_synchronize(); });
  expect("cudaEventSynchronize", [&] { before.synchronize(); });
  expect("cudaEventSynchronize", [&] {
    within.record(capturing());
    within.synchronize();
  });
  expect("cudaMalloc", [] {
    void* pointer = nullptr;
    C10_CUDA_CHECK(cudaMalloc(&pointer, numbers));
  });
  expect("cudaEventQuery", [&] {
    within.record(capturing());
    static_cast<void>(within.query());
  });
  EXPECT_THAT([&] { static_cast<void>(within.query()); },
              ThrowsMessage<c10::Error>(HasSubstr("last recorded in a capturing stream")));
}

TEST_F(GraphRefusals, AGraphFromBeforeIsReplayedAfterAFailedCapture) {
  at::Tensor drawn;
  CUDAGraph graph;
  capture(graph, [&] { drawn = at::rand({numbers}, on_gpu); });
  refusal([&] { drawn.sum().item<float>(); });
  at::manual_seed(3);
  graph.replay();
  const at::Tensor replayed = drawn.clone();
  at::manual_seed(3);
  EXPECT_TRUE(at::equal(at::rand({numbers}, on_gpu), replayed));
}

TEST_F(GraphRefusals, AHostThatLooksAtNumbersIsRefused) {
  const at::Tensor made = at::ones({numbers}, on_gpu), mask = made > 0;
  const at::Tensor pinned = at::ones({numbers}).pin_memory(), pageable = at::ones({numbers});
  const auto expect = [](const std::string& sentence, const std::function<void()>& look) {
    EXPECT_THAT(refusal(look), AllOf(HasSubstr(sentence), HasSubstr(unsupported))) << sentence;
  };
  expect("aten::_local_scalar_dense makes the host wait", [&] { made.sum().item<float>(); });
  expect("aten::nonzero makes the host wait", [&] { made.nonzero(); });
  expect("aten::index makes the host wait", [&] { made.index({mask}); });
  expect("makes the host wait", [&] { made.index_put_({mask}, made); });
  expect("copies a tensor of the host", [&] { made.index({at::zeros({3}, at::kLong)}); });
  expect("memory of the host is copied", [&] { pinned.copy_(made, /*non_blocking=*/true); });
  expect("memory of the host is copied", [&] { made.copy_(pinned, /*non_blocking=*/true); });
  expect("memory of the host is copied", [&] { made.copy_(pinned, /*non_blocking=*/false); });
  // libtorch looks after the others itself, and a capture goes on.
  const auto by_libtorch =
      AllOf(HasSubstr("unless the CPU tensor is pinned"), HasSubstr("nothing was refused"));
  EXPECT_THAT(refusal([&] { made.to(at::kCPU); }), by_libtorch);
  EXPECT_THAT(refusal([&] { made.add_(pageable.to(on_gpu.device())); }), by_libtorch);
}

TEST_F(GraphRefusals, ASecondStreamIsRefused) {
  const auto wait = [](const c10::cuda::CUDAStream& earlier, const c10::cuda::CUDAStream& later) {
    at::cuda::CUDAEvent event;
    event.record(earlier);
    event.block(later);
  };
  for (const auto& words :
       {refusal([&] { wait(capturing(), other()); }), refusal([&] { wait(other(), capturing()); })})
    EXPECT_THAT(words, AllOf(HasSubstr("one stream is all that is emulated"),
                             HasSubstr("uncaptured work in another stream")));
  CUDAGraph graph;
  capture(graph, [&] { wait(capturing(), capturing()); });
}

TEST_F(GraphRefusals, ACollectiveIsRefused) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  ncclComm_t communicator = nullptr;
  ncclCommInitRank(&communicator, 1, id, 0);
  const at::Tensor values = at::ones({numbers}, on_gpu);
  const auto sum_up = [&] {
    return ncclAllReduce(values.const_data_ptr(), values.mutable_data_ptr(), numbers, ncclFloat32, ncclSum,
                         communicator, capturing().stream());
  };
  EXPECT_THAT(refusal([&] { EXPECT_NE(sum_up(), ncclSuccess); }), HasSubstr("a collective was put on it"));
  EXPECT_EQ(sum_up(), ncclSuccess);
  c10::cuda::device_synchronize();
  ncclCommDestroy(communicator);
}

TEST_F(GraphRefusals, TheDefaultStreamAndACaptureWithinOneAreRefused) {
  const auto begin = [](cudaStream_t stream) {
    const auto status = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    cudaGetLastError();
    return status;
  };
  EXPECT_EQ(begin(nullptr), cudaErrorStreamCaptureUnsupported);
  CUDAGraph graph;
  capture(graph, [&] {
    const at::Tensor made = at::ones({numbers}, on_gpu);
    EXPECT_EQ(begin(capturing()), cudaErrorIllegalState);
    std::thread([] {
      cudaGraph_t none = nullptr;
      EXPECT_EQ(cudaStreamEndCapture(capturing(), &none), cudaErrorStreamCaptureWrongThread);
    }).join();
  });
  const auto launch = [&] { C10_CUDA_CHECK(cudaGraphLaunch(graph.raw_cuda_graph_exec(), capturing())); };
  EXPECT_THAT(refusal(launch), AllOf(HasSubstr("a graph was launched on it"), HasSubstr(unsupported)));
  launch();
}

}  // namespace
}  // namespace emulated::testing
