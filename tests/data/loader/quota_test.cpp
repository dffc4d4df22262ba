#include "larmor/data/loader/quota.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/data/loader/order.h"

#include "tests/support/cases.h"

namespace larmor::testing {
namespace {

/// Three of twenty examples.
const std::vector<int64_t> few{4, 9, 17};

bool is_few(int64_t example) { return example == 4 || example == 9 || example == 17; }

TEST(Quota, GivesEachBatchItsMembersWhereTheirShareIsTooSmall) {
  ExampleOrder order(7, 20, Quota(7, 20, few, /*least=*/2, /*batch=*/5));
  for (int64_t batch = 0; batch < 40; ++batch) {
    int64_t members = 0;
    std::set<int64_t> seen;
    for (int64_t place = 0; place < 5; ++place) {
      const auto key = order.at(batch * 5 + place);
      members += is_few(key.example) ? 1 : 0;
      seen.insert(key.example);
    }
    EXPECT_EQ(members, 2) << "batch " << batch;
  }
}

TEST(Quota, SeesNoExampleMoreOftenThanAnotherWhereTheirShareSuffices) {
  const std::vector<int64_t> half{0, 2, 4, 6, 8, 10, 12, 14, 16, 18};
  ExampleOrder order(7, 20, Quota(7, 20, half, /*least=*/2, /*batch=*/5));
  std::map<int64_t, int64_t> seen;
  for (int64_t position = 0; position < 20 * 30; ++position) ++seen[order.at(position).example];
  ASSERT_EQ(seen.size(), 20U);
  for (const auto& [example, times] : seen) EXPECT_EQ(times, 30) << "example " << example;
}

TEST(Quota, NeverShowsAnExampleTwiceUnderOneKey) {
  ExampleOrder order(7, 20, Quota(7, 20, few, /*least=*/3, /*batch=*/5));
  std::set<std::pair<int64_t, int64_t>> keys;
  for (int64_t position = 0; position < 500; ++position) {
    const auto key = order.at(position);
    EXPECT_TRUE(keys.insert({key.epoch, key.example}).second) << "position " << position;
  }
}

TEST(Quota, StandsInWithAnotherOfItsKind) {
  ExampleOrder order(7, 20, Quota(7, 20, few, /*least=*/2, /*batch=*/5));
  for (int64_t position = 0; position < 20; ++position) {
    const auto first = order.at(position).example, second = order.substitute(position, 1).example;
    EXPECT_NE(first, second);
    EXPECT_EQ(is_few(first), is_few(second));
  }
}

TEST(Quota, IsTheSameWhereverOneBegins) {
  ExampleOrder whole(7, 20, Quota(7, 20, few, 2, 5)), late(7, 20, Quota(7, 20, few, 2, 5));
  for (int64_t position = 0; position < 150; ++position) whole.at(position);
  for (int64_t position = 150; position < 200; ++position)
    EXPECT_EQ(late.at(position).example, whole.at(position).example);
}

TEST(Quota, RefusesWhatCannotBe) {
  EXPECT_EQ(error_of([] { Quota(7, 20, few, 5, 5); })->exit(), Exit::usage);
  EXPECT_EQ(error_of([] { Quota(7, 20, {}, 1, 5); })->exit(), Exit::data);
}

}  // namespace
}  // namespace larmor::testing
