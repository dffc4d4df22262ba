#include "larmor/data/cache/smart_cache.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/hash.h"
#include "larmor/data/loader/order.h"

namespace larmor {
namespace {

class SmartCacheTest : public ::testing::Test {
 protected:
  static constexpr uint64_t seed = 9;

  std::string key_of(int64_t example) const { return sha256(std::to_string(example)); }

  /// Counts how often each example is made.
  SmartCache::Parts parts(PreparedCache& cache, bool gives_up) {
    return {.window = window_,
            .cache = cache,
            .gives_up = gives_up,
            .key_of = [this](int64_t example) { return key_of(example); },
            .make = [this](int64_t example, const std::string&) -> PreparedCache::Make {
              return [this, example] {
                while (blocked_ == example) std::this_thread::yield();
                const std::lock_guard lock(mutex_);
                made_.push_back(example);
                if (example == bad_) fail(Exit::data, "bad file");
                return std::map<std::string, Volume, std::less<>>{
                    {"image", {at::full({1, 4, 4, 4}, static_cast<float>(example)), identity_affine()}}};
              };
            }};
  }
  ExampleKey key(int64_t position) { return ExampleOrder(seed, window_).at(position); }
  std::set<int64_t> window_of(int64_t epoch) const {
    std::set<int64_t> examples;
    for (int64_t place = 0; place < window_.size(); ++place) examples.insert(window_.example(epoch, place));
    return examples;
  }
  std::set<int64_t> held(const PreparedCache& cache) const {
    std::set<int64_t> examples;
    for (int64_t example = 0; example < window_.examples(); ++example) {
      if (cache.holds(key_of(example))) examples.insert(example);
    }
    return examples;
  }
  /// Waits for the background.
  template <class Condition>
  static bool comes_true(const Condition& condition) {
    for (int i = 0; i < 5000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return condition();
  }

  const SmartWindow window_{seed, 20, 0.4, 0.5};  // 8, of which 4 are replaced
  ScratchFolder scratch_;
  DiskStorage storage_;
  std::mutex mutex_;
  std::vector<int64_t> made_;
  std::atomic<int64_t> blocked_ = -1;
  int64_t bad_ = -1;
};

TEST_F(SmartCacheTest, PreparesTheWindowAndTheNextOneAheadOfTheirTime) {
  PreparedCache cache(storage_, scratch_.path());
  SmartCache smart(parts(cache, true), seed);
  smart.get(key(0));
  EXPECT_TRUE(comes_true([&] { return held(cache) == window_of(0); }));
  for (int64_t position = 1; position < 8; ++position) smart.get(key(position));
  std::set<int64_t> both = window_of(0);
  both.merge(window_of(1));
  EXPECT_TRUE(comes_true([&] { return held(cache) == both; }));
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(made_.size(), both.size()) << "each of them once";
}

TEST_F(SmartCacheTest, GivesUpWhatHasLeftTheWindow) {
  PreparedCache cache(storage_, scratch_.path());
  SmartCache smart(parts(cache, true), seed);
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    for (int64_t place = 0; place < 8; ++place) {
      const ExampleKey wanted = key(epoch * 8 + place);
      const auto example = smart.get(wanted);
      ASSERT_TRUE(example.entry);
      EXPECT_EQ(example.entry->read("image").voxels.max().item<float>(), static_cast<float>(wanted.example));
    }
    std::set<int64_t> expected = window_of(epoch);
    expected.merge(window_of(epoch + 1));
    EXPECT_TRUE(comes_true([&] { return held(cache) == expected; })) << "epoch " << epoch;
  }
}

TEST_F(SmartCacheTest, LeavesAPreparedCacheAlone) {
  PreparedCache cache(storage_, scratch_.path());
  SmartCache smart(parts(cache, false), seed);
  for (int64_t position = 0; position < 5 * 8; ++position) smart.get(key(position));
  EXPECT_EQ(held(cache).size(), 20U);
}

TEST_F(SmartCacheTest, WaitsForALateExampleInsteadOfTakingAnother) {
  PreparedCache cache(storage_, scratch_.path());
  blocked_ = key(8).example;
  SmartCache smart(parts(cache, false), seed);
  std::atomic<bool> come = false;
  smart.get(key(window_of(0).contains(blocked_) ? 9 : 0));
  std::jthread late([&] {
    EXPECT_EQ(smart.get(key(8)).entry->read("image").voxels.max().item<float>(),
              static_cast<float>(key(8).example));
    come = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(come);
  blocked_ = -1;
  late.join();
  EXPECT_TRUE(come);
}

TEST_F(SmartCacheTest, LeavesABadFileToWhoWantsIt) {
  bad_ = key(3).example;
  PreparedCache cache(storage_, scratch_.path());
  SmartCache smart(parts(cache, false), seed);
  smart.get(key(0));
  EXPECT_TRUE(comes_true([&] { return held(cache).size() >= 7; }));
  EXPECT_THROW(smart.get(key(3)), Error);
  EXPECT_TRUE(smart.get(key(4)).entry);
}

TEST_F(SmartCacheTest, SharesTheWorkWithOtherProcesses) {
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([this, rank] {
      PreparedCache own(storage_, scratch_.path());
      SmartCache smart(parts(own, false), seed);
      for (int64_t position = rank; position < 3 * 8; position += 3)
        EXPECT_TRUE(smart.get(key(position)).entry);
    });
  }
  ranks.clear();
  EXPECT_EQ(std::set<int64_t>(made_.begin(), made_.end()).size(), made_.size());
}

TEST_F(SmartCacheTest, BeginsInTheMiddleAsAResumedRunDoes) {
  PreparedCache cache(storage_, scratch_.path());
  SmartCache smart(parts(cache, true), seed);
  smart.get(key(7 * 8 + 3));
  EXPECT_TRUE(comes_true([&] { return held(cache) == window_of(7); }));
}

}  // namespace
}  // namespace larmor
