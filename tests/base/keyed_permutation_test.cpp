#include "larmor/base/keyed_permutation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace larmor {
namespace {

std::vector<int64_t> all_of(const KeyedPermutation& permutation) {
  std::vector<int64_t> indices;
  for (int64_t place = 0; place < permutation.size(); ++place) indices.push_back(permutation.at(place));
  return indices;
}

TEST(KeyedPermutation, HoldsEveryIndexOnceWhateverTheSize) {
  std::vector<int64_t> sizes;
  for (int64_t size = 0; size <= 3000; ++size) sizes.push_back(size);
  for (const int64_t size : {65536, 65537, 100'003}) sizes.push_back(size);
  for (const int64_t size : sizes) {
    const KeyedPermutation permutation(7, 3, size);
    std::vector<bool> seen(static_cast<size_t>(size));
    for (int64_t place = 0; place < size; ++place) {
      const int64_t index = permutation.at(place);
      ASSERT_TRUE(index >= 0 && index < size) << size;
      ASSERT_FALSE(seen[static_cast<size_t>(index)]) << size;
      seen[static_cast<size_t>(index)] = true;
      ASSERT_EQ(permutation.place_of(index), place) << size;
    }
  }
}

TEST(KeyedPermutation, FindsItsWayBackInSizesThatNobodyHolds) {
  for (const int64_t size : {int64_t{31'200'000}, (int64_t{1} << 40) + 1, int64_t{1} << 62}) {
    const KeyedPermutation permutation(11, 0, size);
    std::set<int64_t> seen;
    for (int64_t step = 0; step < 1000; ++step) {
      const int64_t place = size / 1000 * step, index = permutation.at(place);
      EXPECT_TRUE(index >= 0 && index < size);
      EXPECT_EQ(permutation.place_of(index), place);
      seen.insert(index);
    }
    EXPECT_EQ(seen.size(), 1000U);
  }
}

TEST(KeyedPermutation, DiffersByEpochAndSeed) {
  const auto order = all_of(KeyedPermutation(7, 3, 100));
  EXPECT_EQ(all_of(KeyedPermutation(7, 3, 100)), order);
  EXPECT_NE(all_of(KeyedPermutation(7, 4, 100)), order);
  EXPECT_NE(all_of(KeyedPermutation(8, 3, 100)), order);
  EXPECT_FALSE(std::ranges::is_sorted(order));
}

// Written down when the order of training was last changed: runs go on along it for ever.
TEST(KeyedPermutation, StaysWhatItWas) {
  EXPECT_EQ(all_of(KeyedPermutation(7, 3, 11)), (std::vector<int64_t>{1, 4, 3, 6, 8, 0, 7, 9, 2, 5, 10}));
}

TEST(KeyedPermutation, PutsEveryIndexInEveryPlaceEquallyOften) {
  constexpr int epochs = 20'000;
  for (int64_t size = 2; size <= 9; ++size) {
    std::vector<int> counts(static_cast<size_t>(size * size));
    for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
      const KeyedPermutation permutation(1, epoch, size);
      for (int64_t place = 0; place < size; ++place)
        ++counts[static_cast<size_t>(place * size + permutation.at(place))];
    }
    const double share = 1.0 / static_cast<double>(size);
    const double deviation = std::sqrt(epochs * share * (1 - share));
    for (const int count : counts) EXPECT_NEAR(count, epochs * share, 4.5 * deviation) << size;
  }
}

/// Pearson's statistic of counts that should be equal.
double chi_square(const std::vector<int>& counts, double expected) {
  double sum = 0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(KeyedPermutation, GivesEachOrderOfFourEquallyOften) {
  std::map<std::vector<int64_t>, int> times;
  for (uint64_t epoch = 0; epoch < 24'000; ++epoch) ++times[all_of(KeyedPermutation(2, epoch, 4))];
  ASSERT_EQ(times.size(), 24U);
  std::vector<int> counts;
  for (const auto& entry : times) counts.push_back(entry.second);
  EXPECT_LT(chi_square(counts, 1000), 49.7);  // 0.1 % lie above, with 23 degrees of freedom
}

TEST(KeyedPermutation, TellsNothingOfAPlaceByTheOneBeforeIt) {
  constexpr int64_t size = 1000, parts = 10;
  std::vector<int> counts(parts * parts);
  for (uint64_t epoch = 0; epoch < 100; ++epoch) {
    const auto order = all_of(KeyedPermutation(5, epoch, size));
    for (size_t place = 1; place < order.size(); ++place)
      ++counts[static_cast<size_t>(order[place - 1] / (size / parts) * parts +
                                   order[place] / (size / parts))];
  }
  EXPECT_LT(chi_square(counts, 99'900.0 / (parts * parts)), 148.2);  // 0.1 %, with 99 degrees of freedom
}

TEST(KeyedPermutation, RefusesPlacesThatThereAreNot) {
  const KeyedPermutation permutation(1, 1, 5), none(1, 1, 0);
  EXPECT_THROW(permutation.at(5), std::logic_error);
  EXPECT_THROW(permutation.at(-1), std::logic_error);
  EXPECT_THROW(permutation.place_of(5), std::logic_error);
  EXPECT_THROW(none.at(0), std::logic_error);
}

}  // namespace
}  // namespace larmor
