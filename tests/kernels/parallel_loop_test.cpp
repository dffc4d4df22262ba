#include "larmor/kernels/parallel_loop.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

class ParallelLoop : public ::testing::Test {
 protected:
  void SetUp() override { at::set_num_threads(2); }
  void TearDown() override { at::set_num_threads(before_); }

 private:
  const int before_ = at::get_num_threads();
};

TEST_F(ParallelLoop, RunsItsPartsAtTheSameTime) {
#ifdef __clang__
  GTEST_SKIP() << "builds by clang++ have no OpenMP";
#endif
  // Each part waits for the other to begin: one after the other they never both have.
  std::atomic<int> begun = 0, met = 0;
  parallel_loop(0, 2, /*grain=*/1, [&](int64_t, int64_t) {
    ++begun;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (begun < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    if (begun == 2) ++met;
  });
  EXPECT_EQ(met, 2);
}

TEST_F(ParallelLoop, VisitsEachElementOnce) {
  std::vector<int> visits(1001, 0);
  parallel_loop(0, 1001, /*grain=*/10, [&](int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) ++visits[static_cast<size_t>(i)];
  });
  EXPECT_EQ(visits, std::vector<int>(1001, 1));
}

TEST_F(ParallelLoop, GivesEachPartMemoryOfItsOwn) {
  constexpr int64_t numbers = 1000;
  std::vector<int> visits(7, 0);
  parallel_loop_with_memory(7, numbers, [&](int64_t first, int64_t end, float* memory) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0U);
    const auto own = static_cast<float>(first);
    std::fill(memory, memory + numbers, own);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(std::count(memory, memory + numbers, own), numbers);
    for (int64_t i = first; i < end; ++i) ++visits[static_cast<size_t>(i)];
  });
  EXPECT_EQ(visits, std::vector<int>(7, 1));
}

TEST_F(ParallelLoop, LeavesLittleToTheThreadThatAsks) {
  const auto own = std::this_thread::get_id();
  int calls = 0;
  parallel_loop(0, 10, /*grain=*/100, [&](int64_t first, int64_t end) {
    EXPECT_EQ(std::this_thread::get_id(), own);
    EXPECT_EQ(end - first, 10);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
}

TEST_F(ParallelLoop, ThrowsWhatAPartThrows) {
  const auto fails = [](int64_t, int64_t) { throw std::runtime_error("a part that fails"); };
  EXPECT_THROW(parallel_loop(0, 2, /*grain=*/1, fails), std::runtime_error);
}

}  // namespace
}  // namespace larmor::testing
