#include "larmor/data/loader/order.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;

TEST(ExampleOrder, ShowsEveryExampleOnceAnEpoch) {
  ExampleOrder order(7, 11);
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    std::set<int64_t> seen;
    for (int64_t i = 0; i < 11; ++i) {
      const ExampleKey key = order.at(epoch * 11 + i);
      EXPECT_EQ(key.epoch, epoch);
      EXPECT_EQ(key.seed, 7U);
      seen.insert(key.example);
    }
    EXPECT_EQ(seen.size(), 11U);
    EXPECT_EQ(*seen.begin(), 0);
    EXPECT_EQ(*seen.rbegin(), 10);
  }
}

TEST(ExampleOrder, ShufflesEachEpochAnew) {
  ExampleOrder order(7, 40);
  const auto epoch = [&order](int64_t number) {
    std::vector<int64_t> examples;
    for (int64_t i = 0; i < 40; ++i) examples.push_back(order.at(number * 40 + i).example);
    return examples;
  };
  EXPECT_NE(epoch(0), epoch(1));
  EXPECT_FALSE(std::ranges::is_sorted(epoch(0)));
  EXPECT_NE(epoch(0), [] {
    ExampleOrder other(8, 40);
    std::vector<int64_t> examples;
    for (int64_t i = 0; i < 40; ++i) examples.push_back(other.at(i).example);
    return examples;
  }());
}

TEST(ExampleOrder, DoesNotDependOnWhatWasAskedBefore) {
  ExampleOrder forward(3, 5), back(3, 5);
  std::vector<ExampleKey> keys;
  for (int64_t position = 0; position < 40; ++position) keys.push_back(forward.at(position));
  for (int64_t position = 39; position >= 0; --position) {
    EXPECT_EQ(back.at(position), keys[static_cast<size_t>(position)]);
  }
}

TEST(ExampleOrder, TakesSubstitutesFromTheSameEpochAndNeverTheSameTwice) {
  ExampleOrder order(3, 6);
  const int64_t position = 6 * 2 + 4;
  std::set<int64_t> seen;
  for (int64_t places = 0; places < 6; ++places) {
    const ExampleKey key = order.substitute(position, places);
    EXPECT_EQ(key.epoch, 2);
    seen.insert(key.example);
  }
  EXPECT_EQ(seen.size(), 6U);
  EXPECT_EQ(order.substitute(position, 1), order.at(position + 1));
  EXPECT_EQ(order.substitute(position, 2), order.at(6 * 2));
}

TEST(ExampleOrder, NeverPartsExamplesThatBelongTogether) {
  ExampleOrder order(42, 7 * 4, 4);
  EXPECT_EQ(order.examples(), 28);
  for (const int64_t epoch : {0, 1}) {
    std::set<int64_t> seen;
    for (int64_t place = 0; place < 28; ++place) {
      const int64_t example = order.at(epoch * 28 + place).example;
      EXPECT_EQ(example % 4, place % 4);
      EXPECT_EQ(example / 4, order.at(epoch * 28 + place / 4 * 4).example / 4);
      seen.insert(example);
    }
    EXPECT_EQ(seen.size(), 28U);
  }
}

TEST(ExampleOrder, RefusesAnEmptySplit) {
  const auto error = testing::error_of([] { ExampleOrder(1, 0); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
}

// The slices that `ranks` ranks see of the global batch at `consumed`, micro-batch by micro-batch.
std::vector<std::vector<int64_t>> all_shares(int ranks, int64_t accumulation, int64_t micro_batch,
                                             int64_t consumed) {
  std::vector<std::vector<int64_t>> shares;
  for (int rank = 0; rank < ranks; ++rank) {
    const BatchSlice share{.global_batch = micro_batch * accumulation * ranks,
                           .micro_batch = micro_batch,
                           .accumulation = accumulation,
                           .rank = rank,
                           .ranks = ranks};
    for (int64_t micro = 0; micro < accumulation; ++micro) shares.push_back(share.positions(consumed, micro));
  }
  return shares;
}

TEST(BatchSlice, GivesTheSameMicroBatchesToOneTwoAndFourRanks) {
  const auto one = all_shares(1, 4, 3, 120);
  EXPECT_EQ(all_shares(2, 2, 3, 120), one);
  EXPECT_EQ(all_shares(4, 1, 3, 120), one);
  EXPECT_THAT(one, ElementsAre(ElementsAre(120, 121, 122), ElementsAre(123, 124, 125),
                               ElementsAre(126, 127, 128), ElementsAre(129, 130, 131)));
}

TEST(BatchSlice, CoversAGlobalBatchThatStraddlesTwoEpochs) {
  ExampleOrder order(5, 10);
  std::multiset<int64_t> first_epoch, second_epoch;
  for (int64_t consumed = 0; consumed < 20; consumed += 4) {
    for (const auto& positions : all_shares(2, 1, 2, consumed)) {
      for (const int64_t position : positions) {
        const ExampleKey key = order.at(position);
        (key.epoch == 0 ? first_epoch : second_epoch).insert(key.example);
      }
    }
  }
  EXPECT_THAT(first_epoch, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(first_epoch, second_epoch);
}

}  // namespace
}  // namespace larmor
