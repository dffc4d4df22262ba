#include "larmor/kernels/draw/philox_order.h"

#include <array>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::philox4x32 {
namespace {

struct Row {
  int64_t channels, voxels;
};

// Whole groups of 256 a channel, parts of one, fewer voxels than lanes, channels that end within a group.
constexpr std::array<Row, 8> rows{
    {{4, 256}, {3, 512}, {64, 4}, {5, 105}, {7, 63}, {2, 1000}, {256, 27}, {33, 2}}};

int64_t blocks_of(const Row& row) {
  const auto whole = static_cast<int64_t>(group);
  return (row.channels * row.voxels + whole - 1) / whole * static_cast<int64_t>(lanes);
}

/// Which number of the row is written to each place, as the kernel goes through it; -1 where none is.
template <class Order>
std::vector<int64_t> numbers_by_place(const Row& row, const Order& order) {
  const int64_t size = row.channels * row.voxels, blocks = blocks_of(row);
  std::vector<int64_t> numbers(static_cast<size_t>(size), -1);
  std::vector<int64_t> made(static_cast<size_t>(blocks), 0);
  for (int64_t turn = 0; turn < order.turns(blocks); ++turn) {
    const int64_t block = order.block_of(turn, blocks);
    if (block >= blocks) continue;
    made[static_cast<size_t>(block)] += 1;
    int64_t places[numbers_of_a_block];
    order.place(first_element_of(block), places);
    for (int64_t word = 0; word < numbers_of_a_block; ++word) {
      const int64_t number = first_element_of(block) + word * static_cast<int64_t>(lanes);
      if (number < size) numbers.at(static_cast<size_t>(places[word])) = number;
    }
  }
  EXPECT_EQ(made, std::vector<int64_t>(static_cast<size_t>(blocks), 1)) << "each block has one turn";
  return numbers;
}

TEST(PhiloxOrder, ElementsOfARowLieWhereStridesSay) {
  for (const Row& row : rows) {
    const at::Tensor numbers = at::arange(row.channels * row.voxels).view({row.channels, row.voxels});
    const auto expect_numbers = [&](const std::vector<int64_t>& found, const at::Tensor& expected) {
      EXPECT_TRUE(at::equal(at::tensor(found, at::TensorOptions(at::kLong)), expected.flatten()))
          << row.channels << " channels of " << row.voxels;
    };
    expect_numbers(numbers_by_place(row, NumberedOrder{}), numbers);
    expect_numbers(numbers_by_place(row, ChannelsLastOrder{row.channels, row.voxels}),
                   numbers.t().contiguous());
  }
}

TEST(PhiloxOrder, NeighboursWriteNeighboursWhereChannelsAreSideBySide) {
  const Row row{64, 1024};
  const ChannelsLastOrder order{row.channels, row.voxels};
  for (int64_t turn = 1; turn < order.turns(blocks_of(row)); ++turn) {
    if (turn % row.channels == 0) continue;
    int64_t before[numbers_of_a_block], here[numbers_of_a_block];
    order.place(first_element_of(order.block_of(turn - 1, blocks_of(row))), before);
    order.place(first_element_of(order.block_of(turn, blocks_of(row))), here);
    for (int64_t word = 0; word < numbers_of_a_block; ++word) ASSERT_EQ(here[word], before[word] + 1) << turn;
  }
}

}  // namespace
}  // namespace larmor::philox4x32
