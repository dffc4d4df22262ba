#include "larmor/data/cache/recent_volumes.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

TEST(RecentVolumes, AreMadeOnceForAllWhoWantThemAtOnce) {
  RecentVolumes recent(2);
  std::atomic<int> made = 0;
  std::vector<std::shared_ptr<const Volumes>> got(8);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : got) {
      threads.emplace_back([&] {
        mine = recent.get(7, [&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          ++made;
          return Volumes{};
        });
      });
    }
  }
  EXPECT_EQ(made, 1);
  for (const auto& mine : got) EXPECT_EQ(mine, got.front());
}

TEST(RecentVolumes, AreForgottenWhenOthersHaveBeenAskedFor) {
  RecentVolumes recent(2);
  int made = 0;
  const auto ask = [&](int64_t number) {
    recent.get(number, [&] {
      ++made;
      return Volumes{};
    });
  };
  for (const int64_t number : {1, 2, 1, 2}) ask(number);
  EXPECT_EQ(made, 2);
  ask(3);  // 1 was asked for longest ago
  ask(2);
  EXPECT_EQ(made, 3);
  ask(1);
  EXPECT_EQ(made, 4);
}

TEST(RecentVolumes, AreTriedAgainAfterAnError) {
  RecentVolumes recent(2);
  EXPECT_THROW(recent.get(1, []() -> Volumes { fail(Exit::data, "cut short"); }), Error);
  EXPECT_NE(recent.get(1, [] { return Volumes{}; }), nullptr);
}

}  // namespace
}  // namespace larmor
