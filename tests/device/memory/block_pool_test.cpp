#include "larmor/device/memory/block_pool.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

constexpr size_t mebibyte = size_t{1} << 20, room = 64 * mebibyte;

TEST(BlockPool, HandsOutAgainWhatWasFreedAndJoinsIt) {
  BlockPool pool(room);
  void* const first = pool.allocate(3 * mebibyte);
  void* const second = pool.allocate(5 * mebibyte);
  const size_t grown = pool.grown_bytes();
  EXPECT_EQ(grown, 8 * mebibyte);
  pool.release(first);
  pool.release(second);
  EXPECT_EQ(pool.allocate(8 * mebibyte), first);
  EXPECT_EQ(pool.grown_bytes(), grown);
}

TEST(BlockPool, GrowsByWhatTheFreeEndLacks) {
  BlockPool pool(room);
  pool.release(pool.allocate(6 * mebibyte));
  EXPECT_NE(pool.allocate(8 * mebibyte), nullptr);
  EXPECT_EQ(pool.grown_bytes(), 8 * mebibyte);
}

TEST(BlockPool, RefusesWhatItHasNoRoomFor) {
  BlockPool pool(room);
  EXPECT_EQ(pool.allocate(room + 1), nullptr);
  void* const all = pool.allocate(room);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(pool.allocate(1), nullptr);
  pool.release(all);
  EXPECT_EQ(pool.allocate(room), all);
}

TEST(BlockPool, RefusesEverythingWhereTheSystemReservesNothing) {
  BlockPool pool(std::numeric_limits<size_t>::max() / 2);
  EXPECT_EQ(pool.allocate(mebibyte), nullptr);
  int elsewhere = 0;
  EXPECT_FALSE(pool.owns(&elsewhere));
  EXPECT_FALSE(pool.owns(nullptr));
}

/// Keeps some blocks, each full of a number of its own, and looks after it when a block is given back.
int64_t blocks_that_changed(BlockPool& pool, uint32_t seed) {
  struct Block {
    unsigned char* data;
    size_t bytes;
    unsigned char number;
  };
  std::mt19937 chance(seed);
  std::vector<Block> held;
  int64_t changed = 0;
  const auto give_back = [&](size_t at) {
    const Block block = held[at];
    const auto is_as_left = [&](size_t byte) { return block.data[byte] == block.number; };
    if (!is_as_left(0) || !is_as_left(block.bytes / 2) || !is_as_left(block.bytes - 1)) ++changed;
    held[at] = held.back();
    held.pop_back();
    pool.release(block.data);
  };
  for (int call = 0; call < 400; ++call) {
    const size_t bytes = 1 + chance() % (2 * mebibyte);
    auto* const data = static_cast<unsigned char*>(pool.allocate(bytes));
    if (data != nullptr) {
      const auto number = static_cast<unsigned char>(chance());
      std::memset(data, number, bytes);
      held.push_back({.data = data, .bytes = bytes, .number = number});
    }
    if (held.size() > 8 || (data == nullptr && !held.empty())) give_back(chance() % held.size());
  }
  while (!held.empty()) give_back(0);
  return changed;
}

TEST(BlockPool, GivesNoByteToTwoThreads) {
  BlockPool pool(room);
  std::vector<int64_t> changed(4, -1);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < changed.size(); ++i)
    threads.emplace_back([&, i] { changed[i] = blocks_that_changed(pool, i); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(changed, std::vector<int64_t>(4, 0));
  EXPECT_NE(pool.allocate(pool.grown_bytes()), nullptr) << "all of it is free again, and in one piece";
}

TEST(BlockPool, HoldsTheLargeTensorsOfTheProcess) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer has to see each block";
#endif
  start_block_pool();
  start_block_pool();
  const auto address_of_next = [](int64_t bytes) { return at::empty({bytes}, at::kByte).data_ptr(); };
  // A freed block is what the next tensor of its size gets, whatever small ones come in between.
  void* const large = address_of_next(4 * mebibyte);
  const at::Tensor small = at::zeros({100});
  EXPECT_EQ(address_of_next(4 * mebibyte), large);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(large) % 4096, 0);
  const at::Tensor filled = at::full({300'000}, 2.0F), copied = filled.clone();
  EXPECT_EQ(copied.sum().item<float>(), 600'000.0F);
}

}  // namespace
}  // namespace larmor::testing
