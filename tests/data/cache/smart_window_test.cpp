#include "larmor/data/cache/smart_window.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/data/loader/order.h"

namespace larmor {
namespace {

using Examples = std::set<int64_t>;

Examples window_of(const SmartWindow& window, int64_t epoch) {
  Examples examples;
  for (int64_t place = 0; place < window.size(); ++place) examples.insert(window.example(epoch, place));
  return examples;
}

Examples without(const Examples& all, const Examples& some) {
  Examples left;
  std::ranges::set_difference(all, some, std::inserter(left, left.end()));
  return left;
}

TEST(SmartWindow, HasMonaisSizes) {
  // examples, cache_rate, replace_rate -> cached, replaced: what SmartCacheDataset of MONAI 1.5 computes
  const struct {
    int64_t examples;
    double cache_rate, replace_rate;
    int64_t size, replaced;
  } rows[] = {{100, 0.5, 0.5, 50, 25},   {100, 0.8, 0.4, 80, 20}, {10, 0.3, 0.2, 3, 1},
              {7, 0.5, 0.5, 3, 2},       {5, 1.0, 0.5, 5, 0},     {1, 0.5, 0.5, 1, 0},
              {1000, 0.3, 0.2, 300, 60}, {3, 0.1, 0.1, 1, 1}};
  for (const auto& row : rows) {
    const SmartWindow window(7, row.examples, row.cache_rate, row.replace_rate);
    EXPECT_EQ(window.size(), row.size) << row.examples;
    EXPECT_EQ(window.replaced(), row.replaced) << row.examples;
  }
}

TEST(SmartWindow, ReplacesThatManyAnEpochAndTheOldestFirst) {
  const SmartWindow window(7, 40, 0.5, 0.25);
  std::map<int64_t, int64_t> came;
  for (const int64_t example : window_of(window, 0)) came[example] = 0;
  for (int64_t epoch = 1; epoch < 30; ++epoch) {
    const Examples before = window_of(window, epoch - 1), now = window_of(window, epoch);
    ASSERT_EQ(now.size(), 20U);
    const Examples entered = without(now, before), left = without(before, now);
    ASSERT_EQ(entered.size(), 5U);
    ASSERT_EQ(left.size(), 5U);
    for (const int64_t example : entered) came[example] = epoch;
    for (const int64_t example : left) {
      for (const int64_t stays : now) ASSERT_LE(came.at(example), came.at(stays));
    }
  }
}

TEST(SmartWindow, ShowsEachExampleAndEachAsOftenInTheLongRun) {
  for (const int64_t examples : {1, 2, 3, 7, 40, 101}) {
    for (const double rate : {0.1, 0.5, 0.9, 1.0}) {
      const SmartWindow window(3, examples, rate, 0.3);
      ExampleOrder order(3, window);
      std::map<int64_t, int64_t> seen;
      const int64_t rounds = window.epochs_to_see_all();
      for (int64_t i = 0; i < rounds * window.size(); ++i) ++seen[order.at(i).example];
      EXPECT_EQ(seen.size(), static_cast<std::size_t>(examples)) << examples << " at " << rate;
      // After as many epochs as there are examples the window has come round evenly.
      seen.clear();
      for (int64_t i = 0; i < examples * window.size(); ++i) ++seen[order.at(i).example];
      for (const auto& [example, count] : seen) EXPECT_EQ(count, window.size());
    }
  }
}

TEST(SmartWindow, KnowsWhatItHolds) {
  const SmartWindow window(11, 23, 0.4, 0.5);
  for (int64_t epoch = 0; epoch < 50; ++epoch) {
    const Examples held = window_of(window, epoch);
    for (int64_t example = 0; example < 23; ++example)
      ASSERT_EQ(window.holds(epoch, example), held.contains(example));
  }
}

TEST(SmartOrder, ShowsTheWindowOnceAnEpochInAnOrderOfItsOwn) {
  const SmartWindow window(5, 30, 0.5, 0.2);
  ExampleOrder order(5, window);
  EXPECT_EQ(order.examples(), 15);
  std::vector<int64_t> first_places;
  for (int64_t epoch = 0; epoch < 6; ++epoch) {
    Examples seen;
    for (int64_t i = 0; i < 15; ++i) {
      const ExampleKey key = order.at(epoch * 15 + i);
      EXPECT_EQ(key.epoch, epoch);
      seen.insert(key.example);
    }
    EXPECT_EQ(seen, window_of(window, epoch));
    first_places.push_back(order.at(epoch * 15).example);
  }
  EXPECT_GT(Examples(first_places.begin(), first_places.end()).size(), 2U);
}

TEST(SmartOrder, IsOneScheduleForAnyNumberOfRanksAndGoesOnWhereItStopped) {
  const SmartWindow window(5, 13, 0.5, 0.5);
  ExampleOrder whole(5, window);
  std::vector<ExampleKey> expected;
  for (int64_t i = 0; i < 96; ++i) expected.push_back(whole.at(i));
  for (const int ranks : {1, 2, 4}) {
    std::vector<ExampleKey> keys(96);
    for (int rank = 0; rank < ranks; ++rank) {
      ExampleOrder own(5, window);  // begins in the middle, as a resumed run does
      for (const int64_t consumed : {48, 56, 64, 72, 80, 88, 0, 8, 16, 24, 32, 40}) {
        const BatchSlice share{.global_batch = 8, .micro_batch = 8 / ranks, .rank = rank, .ranks = ranks};
        for (const int64_t at : share.positions(consumed, 0)) keys[static_cast<std::size_t>(at)] = own.at(at);
      }
    }
    EXPECT_EQ(keys, expected);
  }
}

TEST(SmartOrder, TakesSubstitutesFromItsWindow) {
  const SmartWindow window(5, 13, 0.5, 0.5);
  ExampleOrder order(5, window);
  Examples seen;
  for (int64_t places = 0; places < order.examples(); ++places)
    seen.insert(order.substitute(20, places).example);
  EXPECT_EQ(seen, window_of(window, 20 / window.size()));
}

TEST(SmartOrder, ShowsAllCropsOfTheVolumesInItsWindow) {
  const SmartWindow window(5, 10, 0.5, 0.2);
  ExampleOrder order(5, window, 3);
  ASSERT_EQ(order.examples(), 15);
  std::set<int64_t> seen;
  for (int64_t place = 0; place < 15; ++place) {
    const int64_t example = order.at(2 * 15 + place).example;
    EXPECT_TRUE(window.holds(2, example / 3));
    seen.insert(example);
  }
  EXPECT_EQ(seen.size(), 15U);
}

TEST(MakeOrder, TakesAWindowOnlyForSmartCache) {
  DataConfig data;
  EXPECT_EQ(make_order(data, 1, 40).examples(), 40);
  data.cache = "full";
  EXPECT_EQ(make_order(data, 1, 40).examples(), 40);
  data.cache = "smart";
  data.cache_rate = 0.25;
  EXPECT_EQ(make_order(data, 1, 40).examples(), 10);
}

}  // namespace
}  // namespace larmor
