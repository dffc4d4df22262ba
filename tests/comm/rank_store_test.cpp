// How many messages the ranks of a group cost while they gather, and who is named when some do not come.
#include "larmor/comm/rank_store.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

/// Counts what it is asked. A question for what is not there yet takes as long as that, so that the count is
/// no matter of time.
class CountingStore final : public c10d::HashStore {
 public:
  using c10d::Store::set;
  void set(const std::string& key, const std::vector<uint8_t>& value) override {
    ++requests;
    HashStore::set(key, value);
  }
  int64_t add(const std::string& key, int64_t value) override {
    ++requests;
    return HashStore::add(key, value);
  }
  bool check(const std::vector<std::string>& keys) override {
    ++requests;
    if (waits) HashStore::wait(keys, milliseconds(60'000));
    return HashStore::check(keys);
  }
  std::atomic<int> requests = 0;
  bool waits = true;
};

Rank rank_of(int index, int count) {
  Rank rank;
  rank.index = index;
  rank.count = count;
  rank.master_address = "127.0.0.1";
  return rank;
}

TEST(RankStore, IsAskedAFewTimesByEachRankHoweverManyTheyAre) {
  constexpr int most_requests_of_a_rank = 3;
  for (const int count : {1, 8, 64}) {
    CountingStore store;
    std::vector<std::jthread> ranks;
    for (int index = 0; index < count; ++index)
      ranks.emplace_back([&store, rank = rank_of(index, count)] {
        wait_for_all(store, rank, "group", milliseconds(60'000));
      });
    ranks.clear();
    EXPECT_EQ(store.requests, most_requests_of_a_rank * count + 1);
  }
}

std::string complaint_of(int count, const std::vector<int>& there) {
  CountingStore store;
  store.waits = false;
  for (const int index : there) {
    store.set(text("group/came/", index), "host");
    store.add("group/count", 1);
  }
  try {
    wait_for_all(store, rank_of(0, count), "group", milliseconds(20));
  } catch (const Error& error) {
    return error.message();
  }
  return "all came";
}

TEST(RankStore, NamesTheRanksThatDidNotCome) {
  EXPECT_THAT(complaint_of(5, {1, 3}), HasSubstr("for ranks 2, 4 of 5, which never came"));
  std::vector<int> all_but_one;
  for (int index = 1; index < 1000; ++index) {
    if (index != 777) all_but_one.push_back(index);
  }
  EXPECT_THAT(complaint_of(1000, all_but_one), HasSubstr("for rank 777 of 1000, which never came"));
  EXPECT_THAT(complaint_of(1000, {}), HasSubstr("for ranks 1, 2, 3, 4, 5, 6, 7, 8 and 991 more of 1000"));
}

}  // namespace
}  // namespace larmor
