#include "larmor/watch/rank_cell.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace larmor {
namespace {

/// Memory of zeros, as a mapping gives it.
template <typename T>
std::unique_ptr<T> zeros() {
  return std::make_unique<T>();
}

RankDiary diary_of(int64_t step) {
  RankDiary diary;
  diary.phase = static_cast<Phase>(step % static_cast<int64_t>(phase_count));
  diary.step = diary.began = diary.waited = diary.longest_wait = diary.waits_since = step;
  diary.spent.fill(step);
  diary.waits_at = static_cast<uint64_t>(step);
  return diary;
}

bool is_of_one_step(const RankDiary& diary) {
  const int64_t step = diary.step;
  return diary.phase == static_cast<Phase>(step % static_cast<int64_t>(phase_count)) && diary.began == step &&
         diary.waited == step && diary.longest_wait == step && diary.waits_since == step &&
         diary.waits_at == static_cast<uint64_t>(step) &&
         std::ranges::all_of(diary.spent, [&](int64_t spent) { return spent == step; });
}

TEST(SharedDiary, OfZerosIsOfARankThatStarts) {
  const RankDiary diary = zeros<SharedDiary>()->read();
  EXPECT_EQ(diary.phase, Phase::starting);
  EXPECT_EQ(diary.step, 0);
  EXPECT_EQ(diary.began, 0);
}

TEST(SharedDiary, IsReadWholeHoweverFastItIsWritten) {
  const auto shared = zeros<SharedDiary>();
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    for (int64_t step = 1; !done; ++step) shared->write(diary_of(step));
  });
  int64_t last = 0;
  while (last < 100'000) {
    const RankDiary diary = shared->read();
    EXPECT_TRUE(is_of_one_step(diary)) << "two mixed, near step " << diary.step;
    EXPECT_GE(diary.step, last) << "an old one";
    last = diary.step;
  }
  done = true;
}

Collective all_reduce_of(int64_t number, int64_t elements, int group = 0) {
  return {.group = group,
          .number = number,
          .kind = CollectiveKind::all_reduce,
          .elements = elements,
          .element = ElementKind::float32,
          .finished = false};
}

/// What stands in an entry after each of its stores, when two threads make theirs in this order.
std::vector<CollectiveWords::Words> history(const std::vector<bool>& order,
                                            const CollectiveWords::Words& first,
                                            const CollectiveWords::Words& second) {
  std::vector<CollectiveWords::Words> all{CollectiveWords::Words{}};
  size_t of_first = 0, of_second = 0;
  for (const bool is_second : order) {
    CollectiveWords::Words now = all.back();
    size_t& next = is_second ? of_second : of_first;
    now[next] = is_second ? second[next] : first[next];
    ++next;
    all.push_back(now);
  }
  return all;
}

/// Where in a history each word is read, in the order of the words.
using Reading = CollectiveWords::Words;
std::vector<Reading> readings(size_t moments) {
  std::vector<Reading> all;
  for (size_t a = 0; a < moments; ++a)
    for (size_t b = a; b < moments; ++b)
      for (size_t c = b; c < moments; ++c) all.push_back({a, b, c});
  return all;
}

TEST(CollectiveWords, AreNeverReadAsAMixtureWhateverTwoThreadsDo) {
  const uint64_t early = 5, late = early + most_collectives;  // of one entry
  const Collective first = all_reduce_of(6, 100), second = all_reduce_of(40, 7, 1);
  const auto words = CollectiveWords::encode(early, first), later = CollectiveWords::encode(late, second);
  int whole = 0;
  std::vector<bool> order{false, false, false, true, true, true};
  do {
    const auto moments = history(order, words, later);
    for (const Reading& reading : readings(moments.size())) {
      const CollectiveWords::Words seen{moments[reading[0]][0], moments[reading[1]][1],
                                        moments[reading[2]][2]};
      const auto as_early = CollectiveWords::decode(early, seen),
                 as_late = CollectiveWords::decode(late, seen);
      EXPECT_TRUE(!as_early || *as_early == first);
      EXPECT_TRUE(!as_late || *as_late == second);
      EXPECT_FALSE(as_early && as_late);
      whole += as_early || as_late;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_GT(whole, 0);
}

TEST(CollectiveWords, OfZerosAreNothing) { EXPECT_FALSE(CollectiveWords::decode(0, {})); }

TEST(CollectiveRing, ForgetsWhatAWholeRingHasFollowed) {
  const auto ring = zeros<CollectiveRing>();
  const auto first = ring->begin(all_reduce_of(1, 8));
  ring->finish(first);
  ASSERT_TRUE(ring->at(0));
  EXPECT_TRUE(ring->at(0)->finished);
  EXPECT_FALSE(ring->at(1)) << "not begun yet";
  for (int64_t number = 2; number <= 65; ++number) ring->begin(all_reduce_of(number, 8));
  ring->finish(first);  // too late: its entry is another's
  EXPECT_EQ(ring->end(), 65U);
  EXPECT_FALSE(ring->at(0));
  EXPECT_EQ(ring->at(64), all_reduce_of(65, 8));
}

}  // namespace
}  // namespace larmor
