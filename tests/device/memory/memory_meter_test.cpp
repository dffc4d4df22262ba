#include "larmor/device/memory/memory_meter.h"

#include <cstdint>
#include <thread>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

constexpr int64_t megabyte = int64_t{1} << 20;

at::Tensor megabytes(int64_t count) { return at::empty({count * megabyte}, at::kByte); }

class MemoryMeter : public ::testing::Test {
 protected:
  MemoryMeter() {
    start_memory_meter();
    start_memory_meter();
    before_ = metered_memory().held;
    reset_metered_peak();
  }
  int64_t held() const { return metered_memory().held - before_; }
  int64_t peak() const { return metered_memory().peak - before_; }

 private:
  int64_t before_ = 0;
};

TEST_F(MemoryMeter, CountsWhatTensorsHoldToTheByte) {
  auto one = megabytes(1);
  const auto view = one.narrow(0, 5, 7);
  const auto odd = at::empty({3}, at::kByte), nothing = at::empty({0});
  EXPECT_EQ(held(), megabyte + 3);
  one = at::Tensor();
  EXPECT_EQ(held(), megabyte + 3) << "the view holds the storage";
}

TEST_F(MemoryMeter, KnowsTheMostThatWasHeldAtATime) {
  const auto kept = megabytes(1);
  megabytes(5);
  megabytes(3);
  EXPECT_EQ(held(), megabyte);
  EXPECT_EQ(peak(), 6 * megabyte);
  reset_metered_peak();
  EXPECT_EQ(peak(), megabyte);
}

TEST_F(MemoryMeter, FollowsAStorageThatGrows) {
  auto tensor = megabytes(1);
  tensor.fill_(7);
  tensor.resize_({4 * megabyte});
  EXPECT_EQ(held(), 4 * megabyte);
  EXPECT_EQ(peak(), 5 * megabyte);
  EXPECT_EQ(tensor[megabyte - 1].item<int>(), 7);
}

TEST_F(MemoryMeter, LeavesOutMemoryOfOthers) {
  std::vector<uint8_t> memory(static_cast<size_t>(megabyte));
  const auto borrowed = at::from_blob(memory.data(), {megabyte}, at::kByte);
  EXPECT_EQ(held(), 0);
}

TEST_F(MemoryMeter, GivesBlocksThatAreAligned) {
  const auto tensor = at::empty({5}, at::kByte);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % 64, 0U);
}

TEST_F(MemoryMeter, CountsAllThreads) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int turn = 0; turn < 200; ++turn) at::empty({1000 + turn});
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(held(), 0);
  EXPECT_GE(peak(), 4000);
}

// In a process of its own, for here the meter may have been started already.
TEST(MemoryMeterDeathTest, LeavesOutWhatWasThereBefore) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        auto early = megabytes(1);
        start_memory_meter();
        const bool begins_at_zero = metered_memory().held == 0;
        early = at::Tensor();
        const bool stays_at_zero = metered_memory().held == 0;
        std::exit(begins_at_zero && stays_at_zero ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace larmor::testing
