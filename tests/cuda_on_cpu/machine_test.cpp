// The machine that runs kernels of cards on the CPU, by kernels that are made for it (planted.cu).
#include <cmath>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cuda_on_cpu/launches.h"
#include "tests/cuda_on_cpu/order.h"
#include "tests/cuda_on_cpu/planted.h"

namespace cuda_on_cpu {
namespace {

using planted::Barriers;

const Order every_order[] = {{.kind = Order::forward},
                             {.kind = Order::reversed},
                             {.kind = Order::shuffled, .seed = 1},
                             {.kind = Order::shuffled, .seed = 2}};

std::vector<float> counted_up(int count) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  return numbers;
}

TEST(Machine, AddsByBarriersInEveryOrder) {
  const std::vector<float> numbers = counted_up(3 * 64);
  for (const Order order : every_order) {
    set_order(order);
    std::vector<float> sums(3, NAN);
    planted::add_by_halves(numbers.data(), sums.data(), 3, Barriers::all);
    EXPECT_EQ(sums, (std::vector<float>{2016, 6112, 10208}));
  }
}

TEST(Machine, ShowsARaceByTheOrderOfThreads) {
  const std::vector<float> numbers = counted_up(64);
  int wrong = 0;
  for (const Order order : every_order) {
    set_order(order);
    std::vector<float> sums(1, NAN);
    planted::add_by_halves(numbers.data(), sums.data(), 1, Barriers::none);
    wrong += static_cast<int>(sums[0] != 2016);
  }
  EXPECT_GE(wrong, 3);
}

TEST(Machine, ShowsThatBlocksWaitForEachOtherByTheirOrder) {
  std::vector<int> numbers(4, 0);
  set_order({.kind = Order::forward});
  planted::read_across_blocks(numbers.data(), 4);
  EXPECT_EQ(numbers, (std::vector<int>{1, 2, 3, 4}));
  numbers.assign(4, 0);
  set_order({.kind = Order::reversed});
  planted::read_across_blocks(numbers.data(), 4);
  EXPECT_NE(numbers, (std::vector<int>{1, 2, 3, 4}));
}

TEST(Machine, AddsByShufflesAndLaunchedMemoryInEveryOrder) {
  const std::vector<float> numbers = counted_up(2 * 256);
  for (const Order order : every_order) {
    set_order(order);
    std::vector<float> sums(2, NAN);
    planted::add_by_shuffles(numbers.data(), sums.data(), 2, 256);
    EXPECT_EQ(sums, (std::vector<float>{255 * 128, 255 * 128 + 256 * 256}));
  }
}

TEST(Machine, CountsByAtomicsVotesAndBarriers) {
  for (const Order order : every_order) {
    set_order(order);
    std::vector<int> counts(3, 0);
    planted::count_threads(counts.data(), 3, 96);
    EXPECT_EQ(counts, (std::vector<int>{3 * 96, 3 * 96, 3 * 3 * 16}));
  }
}

TEST(Machine, FillsSharedMemoryWithRubbishBeforeEachBlock) {
  std::vector<double> numbers(2, 0);
  planted::read_unwritten(numbers.data());
  EXPECT_TRUE(std::isnan(numbers[0]));
  EXPECT_TRUE(std::isnan(numbers[1]));
}

TEST(Machine, RefusesBarriersThatSomeThreadsNeverReach) {
  EXPECT_THROW(planted::wait_for_nobody(), std::runtime_error);
  const std::vector<float> numbers = counted_up(64);
  std::vector<float> sums(1, NAN);
  planted::add_by_halves(numbers.data(), sums.data(), 1, Barriers::all);
  EXPECT_EQ(sums[0], 2016) << "after a grid that was given up";
}

TEST(Machine, RefusesWhatNoCardTakes) {
  EXPECT_NO_THROW(planted::launch_blocks_of(1024));
  EXPECT_THROW(planted::launch_blocks_of(1025), std::runtime_error);
  EXPECT_THROW(planted::launch_blocks_of(0), std::runtime_error);
  EXPECT_THROW(planted::launch_blocks_of((int64_t{1} << 32) + 1), std::runtime_error);
  EXPECT_NO_THROW(planted::take_shared_bytes(48 << 10));
  EXPECT_THROW(planted::take_shared_bytes((48 << 10) + 1), std::runtime_error);
}

TEST(Machine, CountsLaunchesByKernel) {
  const uint64_t before = launches_by_kernel()["nothing"];
  planted::launch_blocks_of(1);
  EXPECT_EQ(launches_by_kernel()["nothing"], before + 1);
}

TEST(Machine, KnowsItsOrdersByName) {
  EXPECT_EQ(order_named("reversed").kind, Order::reversed);
  EXPECT_THROW(order_named("backward"), std::invalid_argument);
}

}  // namespace
}  // namespace cuda_on_cpu
