// What tests of graphs share: the stream that is captured, another one, and a capture as libtorch makes it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <gtest/gtest.h>

namespace emulated::testing {

using at::cuda::CUDAGraph;

inline const at::TensorOptions on_gpu = at::TensorOptions(c10::Device(c10::kCUDA, 0)).dtype(at::kFloat);
inline constexpr int64_t numbers = 1000, megabytes = int64_t{1} << 18;  // of float32

inline c10::cuda::CUDAStream stream_of_pool(int index) {
  static const std::vector all{c10::cuda::getStreamFromPool(false, 0),
                               c10::cuda::getStreamFromPool(false, 0)};
  return all.at(static_cast<size_t>(index));
}
inline c10::cuda::CUDAStream capturing() { return stream_of_pool(0); }
inline c10::cuda::CUDAStream other() { return stream_of_pool(1); }

/// Waits for what comes before, and for what libtorch puts on the stream itself: numbers for draws, which the
/// next replay, on whichever stream, writes.
inline void capture(CUDAGraph& graph, const std::function<void()>& compute, c10::MempoolId_t pool = {0, 0}) {
  c10::cuda::device_synchronize();
  const c10::cuda::CUDAStreamGuard guard(capturing());
  graph.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
  compute();
  graph.capture_end();
  capturing().synchronize();
}

class GraphCapture : public ::testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    at::globalContext().lazyInitDevice(c10::kCUDA);
    at::manual_seed(1);
  }
  void TearDown() override { c10::cuda::device_synchronize(); }
};
using GraphCaptureDeathTest = GraphCapture;

}  // namespace emulated::testing
