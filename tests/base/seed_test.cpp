#include "larmor/base/seed.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace larmor {
namespace {

using Words = std::array<uint32_t, 4>;

std::vector<float> normals(Key key, size_t count) {
  std::vector<float> out(count);
  fill_normal(key, out);
  return out;
}

TEST(Philox, GivesTheKnownAnswersOfRandom123) {
  EXPECT_EQ(philox({0, 0}, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0ULL, ~0ULL}, ~0ULL), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x299f31d0a4093822, 0x0370734413198a2e}, 0x85a308d3243f6a88),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(MakeKey, ChangesWithEachOfItsParts) {
  std::set<std::pair<uint64_t, uint64_t>> keys;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    for (uint64_t epoch = 0; epoch < 8; ++epoch) {
      for (uint64_t example = 0; example < 8; ++example) {
        for (const char* purpose : {"crop", "flip", "noise"}) {
          const Key key = make_key(seed << 32, epoch << 32, example, purpose);
          keys.emplace(key.key, key.stream);
        }
      }
    }
  }
  EXPECT_EQ(keys.size(), 8U * 8 * 8 * 3);
}

TEST(FillUniform, TakesTheWordsOfThePhiloxBlocks) {
  // Words 0 of 64 blocks come first, then words 1 of the same blocks, and so on.
  const Key key = make_key(1, 2, 3, "uniform");
  std::vector<float> out(600);
  fill_uniform(key, out);
  for (const size_t element : {0U, 1U, 63U, 64U, 200U, 255U, 256U, 599U}) {
    const Words words = philox(key, (element / 256) * 64 + element % 64);
    const uint32_t word = words[(element % 256) / 64];
    EXPECT_EQ(out[element], static_cast<float>(word >> 8) / 16777216.0F) << element;
  }
}

// Any change of these bits changes every run that was ever started: it needs a decision record.
TEST(FillNormal, GivesTheBitsItAlwaysGave) {
  const std::vector<float> out = normals(make_key(42, 0, 7, "noise"), 1000);
  uint64_t sum = 0;
  for (const float value : out) sum = sum * 31 + std::bit_cast<uint32_t>(value);
  EXPECT_EQ(sum, 12255440221857903986U);
}

TEST(FillNormal, FollowsBoxAndMuller) {
  const Key key = make_key(5, 5, 5, "noise");
  const std::vector<float> out = normals(key, 256);
  double worst = 0;
  for (uint64_t block = 0; block < 64; ++block) {
    const Words words = philox(key, block);
    const double u = ((words[0] >> 8) + 0.5) / 16777216.0;
    const double angle = ((((words[1] >> 6) & 0xFFFFFF) + 0.5) / 16777216.0 - 0.5) * std::acos(-1.0) / 2 +
                         ((words[1] >> 30) & 1) * std::acos(-1.0) / 2 + (words[1] >> 31) * std::acos(-1.0);
    const double radius = std::sqrt(-2 * std::log(u));
    worst = std::max({worst, std::abs(out[block] - radius * std::cos(angle)),
                      std::abs(out[block + 64] - radius * std::sin(angle))});
  }
  EXPECT_LT(worst, 2e-6);
}

TEST(FillNormal, DependsOnTheIndexAloneAndNotOnTheLength) {
  const Key key = make_key(3, 1, 4, "noise");
  const std::vector<float> whole = normals(key, 1500);
  for (const size_t length : {0U, 1U, 63U, 65U, 255U, 256U, 257U, 1499U}) {
    const std::vector<float> part = normals(key, length);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin())) << length;
  }
}

TEST(FillNormal, GivesTheSameBitsFromManyThreads) {
  const Key key = make_key(3, 1, 4, "noise");
  const std::vector<float> expected = normals(key, 20'000);
  std::vector<std::vector<float>> drawn(4);
  std::vector<std::thread> threads;
  for (auto& mine : drawn) threads.emplace_back([&mine, key] { mine = normals(key, 20'000); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : drawn) EXPECT_EQ(mine, expected);
}

TEST(FillNormal, HasTheMomentsAndTheShapeOfTheNormalDistribution) {
  constexpr size_t count = 2'000'000;
  std::vector<float> drawn = normals(make_key(11, 0, 0, "noise"), count);
  double first = 0, second = 0, third = 0, fourth = 0;
  for (const double x : drawn) {
    first += x;
    second += x * x;
    third += x * x * x;
    fourth += x * x * x * x;
  }
  // Four standard errors of each moment: sqrt(1, 2, 15, 96) / sqrt(count).
  const double unit = 4 / std::sqrt(static_cast<double>(count));
  EXPECT_NEAR(first / count, 0, unit);
  EXPECT_NEAR(second / count, 1, unit * std::sqrt(2.0));
  EXPECT_NEAR(third / count, 0, unit * std::sqrt(15.0));
  EXPECT_NEAR(fourth / count, 3, unit * std::sqrt(96.0));
  std::sort(drawn.begin(), drawn.end());
  double distance = 0;
  for (size_t i = 0; i < count; ++i) {
    const double expected = 0.5 * std::erfc(-static_cast<double>(drawn[i]) / std::sqrt(2.0));
    distance = std::max(distance, std::abs(expected - (static_cast<double>(i) + 0.5) / count));
  }
  // Kolmogorov and Smirnov, at a level of one in a thousand.
  EXPECT_LT(distance, 1.95 / std::sqrt(static_cast<double>(count)));
}

TEST(FillNormal, DrawsNeighbouringExamplesIndependently) {
  const std::vector<float> one = normals(make_key(1, 0, 0, "noise"), 200'000);
  const std::vector<float> other = normals(make_key(1, 0, 1, "noise"), 200'000);
  EXPECT_LT(std::abs(std::inner_product(one.begin(), one.end(), other.begin(), 0.0)) / 200'000, 0.01);
}

TEST(Draws, RepeatForTheSameKeyAndStayInRange) {
  Draws one(make_key(1, 2, 3, "crop")), two(make_key(1, 2, 3, "crop"));
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double drawn = one.uniform();
    EXPECT_EQ(drawn, two.uniform());
    EXPECT_TRUE(drawn >= 0 && drawn < 1);
    sum += drawn;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.0116);  // four standard errors
}

TEST(Draws, ShareNoWordWithAFillOfTheSameKey) {
  const Key key = make_key(1, 2, 3, "crop");
  Draws draws(key);
  const auto top = static_cast<float>(std::floor(draws.uniform() * 16777216.0) / 16777216.0);
  std::vector<float> filled(1024);
  fill_uniform(key, filled);
  EXPECT_EQ(std::count(filled.begin(), filled.end(), top), 0);
}

TEST(Draws, ChooseEveryNumberBelowTheLimitEquallyOften) {
  Draws draws(make_key(9, 0, 0, "choice"));
  std::vector<int> counts(6);
  for (int i = 0; i < 60'000; ++i) ++counts[draws.below(6)];
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - 10'000.0) * (count - 10'000.0) / 10'000.0;
  EXPECT_LT(chi_square, 20.5);  // 5 degrees of freedom, one in a thousand
  EXPECT_EQ(draws.below(1), 0U);
}

TEST(Draws, AreUnbiasedForALimitThatDoesNotDivideTheRange) {
  // Without drawing again, the lower third of this limit would come up twice as often.
  const uint64_t limit = (uint64_t{3} << 62);
  Draws draws(make_key(9, 0, 0, "choice"));
  int lower = 0;
  for (int i = 0; i < 30'000; ++i) lower += draws.below(limit) < limit / 3 ? 1 : 0;
  EXPECT_NEAR(lower, 10'000, 330);
}

TEST(Draws, GiveNormalsOfUnitVariance) {
  Draws draws(make_key(2, 0, 0, "scalar"));
  double first = 0, second = 0;
  for (int i = 0; i < 50'000; ++i) {
    const double drawn = draws.normal();
    first += drawn;
    second += drawn * drawn;
  }
  EXPECT_NEAR(first / 50'000, 0, 0.018);
  EXPECT_NEAR(second / 50'000, 1, 0.026);
}

}  // namespace
}  // namespace larmor
