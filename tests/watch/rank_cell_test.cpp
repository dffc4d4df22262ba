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

RankProgress diary_of(int64_t step) {
  RankProgress progress;
  progress.phase = static_cast<Phase>(step % static_cast<int64_t>(phase_count));
  progress.step = progress.began = progress.waited = progress.longest_wait = progress.waits_since = step;
  progress.spent.fill(step);
  progress.waits_at = static_cast<uint64_t>(step);
  return progress;
}

bool is_of_one_step(const RankProgress& progress) {
  const int64_t step = progress.step;
  return progress.phase == static_cast<Phase>(step % static_cast<int64_t>(phase_count)) &&
         progress.began == step && progress.waited == step && progress.longest_wait == step &&
         progress.waits_since == step && progress.waits_at == static_cast<uint64_t>(step) &&
         std::ranges::all_of(progress.spent, [&](int64_t spent) { return spent == step; });
}

TEST(SharedProgress, OfZerosIsOfARankThatStarts) {
  const RankProgress progress = zeros<SharedProgress>()->read();
  EXPECT_EQ(progress.phase, Phase::starting);
  EXPECT_EQ(progress.step, 0);
  EXPECT_EQ(progress.began, 0);
}

TEST(SharedProgress, IsReadWholeHoweverFastItIsWritten) {
  const auto shared = zeros<SharedProgress>();
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    for (int64_t step = 1; !done; ++step) shared->write(diary_of(step));
  });
  int64_t last = 0;
  while (last < 100'000) {
    const RankProgress progress = shared->read();
    EXPECT_TRUE(is_of_one_step(progress)) << "two mixed, near step " << progress.step;
    EXPECT_GE(progress.step, last) << "an old one";
    last = progress.step;
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
std::vector<PackedCollective::Words> history(const std::vector<bool>& order,
                                             const PackedCollective::Words& first,
                                             const PackedCollective::Words& second) {
  std::vector<PackedCollective::Words> all{PackedCollective::Words{}};
  size_t of_first = 0, of_second = 0;
  for (const bool is_second : order) {
    PackedCollective::Words now = all.back();
    size_t& next = is_second ? of_second : of_first;
    now[next] = is_second ? second[next] : first[next];
    ++next;
    all.push_back(now);
  }
  return all;
}

/// Where in a history each word is read, in the order of the words.
using Reading = PackedCollective::Words;
std::vector<Reading> readings(size_t moments) {
  std::vector<Reading> all;
  for (size_t a = 0; a < moments; ++a)
    for (size_t b = a; b < moments; ++b)
      for (size_t c = b; c < moments; ++c) all.push_back({a, b, c});
  return all;
}

TEST(PackedCollective, AreNeverReadAsAMixtureWhateverTwoThreadsDo) {
  const uint64_t early = 5, late = early + most_collectives;  // of one entry
  const Collective first = all_reduce_of(6, 100), second = all_reduce_of(40, 7, 1);
  const auto words = PackedCollective::encode(early, first), later = PackedCollective::encode(late, second);
  int whole = 0;
  std::vector<bool> order{false, false, false, true, true, true};
  do {
    const auto moments = history(order, words, later);
    for (const Reading& reading : readings(moments.size())) {
      const PackedCollective::Words seen{moments[reading[0]][0], moments[reading[1]][1],
                                         moments[reading[2]][2]};
      const auto as_early = PackedCollective::decode(early, seen),
                 as_late = PackedCollective::decode(late, seen);
      EXPECT_TRUE(!as_early || *as_early == first);
      EXPECT_TRUE(!as_late || *as_late == second);
      EXPECT_FALSE(as_early && as_late);
      whole += as_early || as_late;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_GT(whole, 0);
}

TEST(PackedCollective, OfZerosAreNothing) { EXPECT_FALSE(PackedCollective::decode(0, {})); }

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
