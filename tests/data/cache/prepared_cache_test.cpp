#include "larmor/data/cache/prepared_cache.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/hash.h"
#include "larmor/base/load_clock.h"
#include "larmor/base/text.h"
#include "larmor/data/cache/cache_layout.h"

#include "tests/support/cases.h"
#include "tests/support/image_files.h"
#include "tests/support/strangers.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Named = std::map<std::string, Volume, std::less<>>;

std::string key_of(int number) { return sha256(std::to_string(number)); }

Named volume_of(int value) {
  return {{"image", {at::full({1, 32, 32, 32}, static_cast<float>(value)), identity_affine()}}};
}

class PreparedCacheTest : public ::testing::Test {
 protected:
  fs::path folder() const { return scratch_.path() / "prepared"; }
  PreparedCache cache(std::optional<uint64_t> budget = {}) {
    return PreparedCache(storage_, folder(), budget);
  }
  /// Gets it, and counts when it had to be made.
  PreparedExample get(PreparedCache& cache, int number) {
    return cache.get(key_of(number), [&] {
      ++made_;
      return volume_of(number);
    });
  }
  fs::path path_of(int number) const {
    return folder() / key_of(number).substr(0, 2) / (key_of(number) + ".entry");
  }
  void used_at(int number, int minutes_ago) {
    fs::last_write_time(path_of(number),
                        fs::file_time_type::clock::now() - std::chrono::minutes(minutes_ago));
  }

  ScratchFolder scratch_;
  DiskStorage storage_;
  std::atomic<int> made_ = 0;
};

TEST_F(PreparedCacheTest, MakesAnExampleOnceForAllWhoComeAfter) {
  {
    PreparedCache first = cache();
    EXPECT_FALSE(first.find(key_of(7)));
    ASSERT_TRUE(get(first, 7).entry);
    ASSERT_TRUE(get(first, 7).entry);
  }
  PreparedCache second = cache();
  const PreparedExample example = get(second, 7);
  ASSERT_TRUE(example.entry);
  EXPECT_TRUE(example.entry->read("image").voxels.equal(volume_of(7).at("image").voxels));
  EXPECT_EQ(made_, 1);
  EXPECT_EQ(second.bytes(), example.entry->bytes());
}

TEST_F(PreparedCacheTest, MakesByItselfWhatAStoppedProcessClaimsAndShowsLifeMeanwhile) {
  PreparedCache waiting(storage_, folder(), {}, std::chrono::milliseconds(200));
  fs::create_directories(folder() / "claims");
  const FileLock stopped(folder() / "claims" / key_of(7).substr(0, 2));
  int signs = 0;
  const LoadClock clock([&] { ++signs; });
  for (int times = 0; times < 2; ++times) {
    ASSERT_TRUE(get(waiting, 7).entry);
    EXPECT_GE(signs, 2);
    waiting.drop(key_of(7));
  }
  EXPECT_EQ(made_, 2);
  EXPECT_LE(signs, 6) << "who has stopped is waited for once";
}

TEST_F(PreparedCacheTest, MakesAnExampleOnceHoweverManyWantItAtOnce) {
  std::vector<std::jthread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      PreparedCache own = cache();  // as another process would have it
      for (int number = 0; number < 5; ++number) {
        const auto example = get(own, number);
        if (example.entry && example.entry->read("image").voxels.equal(volume_of(number).at("image").voxels))
          ++right;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(right, 40);
  EXPECT_EQ(made_, 5);
}

TEST_F(PreparedCacheTest, MakesADamagedEntryAnew) {
  PreparedCache first = cache();
  get(first, 1);
  for (const std::size_t place : {std::size_t{20}, std::size_t{100}}) {
    std::string bytes = testing::read_whole(path_of(1));
    bytes[place] ^= 1;
    testing::write_file(path_of(1), bytes);
    ::testing::internal::CaptureStderr();
    EXPECT_TRUE(get(first, 1).entry->read("image").voxels.equal(volume_of(1).at("image").voxels));
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("made anew") != std::string::npos, place == 20) << said;  // once is enough
  }
  EXPECT_EQ(made_, 3);
  // An entry that somebody has renamed is not what its name says.
  get(first, 2);
  fs::copy_file(path_of(2), path_of(1), fs::copy_options::overwrite_existing);
  EXPECT_TRUE(get(first, 1).entry->read("image").voxels.equal(volume_of(1).at("image").voxels));
}

TEST_F(PreparedCacheTest, RemovesWhatWasNotUsedForLongestAndNothingThatIsInUse) {
  {
    PreparedCache earlier = cache();
    for (int number = 0; number < 4; ++number) get(earlier, number);
  }
  const uint64_t each = fs::file_size(path_of(0));
  for (int number = 0; number < 4; ++number) used_at(number, 10 * (4 - number));
  const CacheEntry in_use = CacheEntry::open(path_of(0));
  PreparedCache later = cache(4 * each + each / 2);
  EXPECT_TRUE(get(later, 1).entry);  // so that 2 is now the oldest that nobody uses
  EXPECT_TRUE(get(later, 10).entry);
  EXPECT_TRUE(fs::exists(path_of(0)));
  EXPECT_TRUE(fs::exists(path_of(1)));
  EXPECT_FALSE(fs::exists(path_of(2)));
  EXPECT_TRUE(fs::exists(path_of(3)));
  EXPECT_LE(later.bytes(), later.budget_bytes());
}

TEST_F(PreparedCacheTest, KeepsNoMoreThanItsBudgetAndDoesNotPushOutItsOwn) {
  const uint64_t each = encode_cache_entry(key_of(0), volume_of(0)).size();
  PreparedCache small = cache(3 * each);
  ::testing::internal::CaptureStderr();
  for (int round = 0; round < 2; ++round) {
    for (int number = 0; number < 5; ++number) {
      const auto example = get(small, number);
      EXPECT_EQ(example.entry.has_value(), number < 3);
      if (number >= 3) {
        EXPECT_TRUE(example.volumes.at("image").voxels.equal(volume_of(number).at("image").voxels));
      }
    }
  }
  EXPECT_EQ(made_, 3 + 2 * 2);
  EXPECT_EQ(small.bytes(), 3 * each);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("data.budget"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

TEST_F(PreparedCacheTest, GoesOnWithoutKeepingWhenTheDiskIsFull) {
  FaultyStorage full([](const FaultyStorage::Operation& operation) {
    if (operation.name == "write") fail(Exit::environment, "no space left on device");
  });
  PreparedCache cache(full, folder());
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(get(cache, 1).volumes.at("image").voxels.equal(volume_of(1).at("image").voxels));
  EXPECT_FALSE(get(cache, 2).entry);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("going on without keeping"));
}

TEST_F(PreparedCacheTest, GivesWhatMakingThrows) {
  PreparedCache any = cache();
  const auto error =
      testing::error_of([&] { any.get(key_of(1), []() -> Named { fail(Exit::data, "a bad file"); }); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "a bad file");
  EXPECT_TRUE(get(any, 1).entry);
}

TEST_F(PreparedCacheTest, IsCleanedOfItsOwnFilesAndOfNoOthers) {
  PreparedCache any = cache();
  for (int number = 0; number < 3; ++number) get(any, number);
  const CacheEntry in_use = CacheEntry::open(path_of(1));
  const fs::path partial = path_of(0).parent_path() / ("." + key_of(0) + ".entry.partial-12-3");
  testing::write_file(partial, "half");
  testing::write_file(folder() / "ab.txt", "somebody's");
  fs::create_directories(folder() / "photos");
  testing::write_file(folder() / "photos" / "one.entry", "somebody's");
  testing::write_file(path_of(0).parent_path() / "mine.entry", "somebody's");
  fs::last_write_time(partial, fs::file_time_type::clock::now() - std::chrono::hours(2));
  const std::string named = key_of(7) + ".entry", shelf = key_of(7).substr(0, 2);
  const testing::Strangers strangers(scratch_.path() / "outside",
                                     {folder() / "notes", folder() / "sources", folder() / "claims" / "notes",
                                      path_of(0).parent_path() / "notes", folder() / shelf / named,
                                      folder() / shelf / ("." + key_of(7) + ".entry.partial-12-3")});
  const auto removed = any.clean();
  strangers.expect_there();
  EXPECT_EQ(removed.entries, 2);
  EXPECT_EQ(removed.in_use, 1);
  EXPECT_EQ(removed.bytes, 2 * in_use.bytes());
  EXPECT_FALSE(fs::exists(path_of(0)));
  EXPECT_TRUE(fs::exists(path_of(1)));
  EXPECT_FALSE(fs::exists(partial));
  EXPECT_TRUE(fs::exists(folder() / "ab.txt"));
  EXPECT_TRUE(fs::exists(folder() / "photos" / "one.entry"));
  EXPECT_TRUE(fs::exists(path_of(0).parent_path() / "mine.entry"));
}

TEST_F(PreparedCacheTest, FillsAheadUnlessSomebodyElseIsAtIt) {
  PreparedCache any = cache();
  using Filled = PreparedCache::Filled;
  EXPECT_EQ(any.fill(key_of(1), [] { return volume_of(1); }), Filled::there);
  EXPECT_EQ(any.fill(key_of(1), []() -> Named { throw std::logic_error("is there"); }), Filled::there);
  std::atomic<bool> at_it = false, done = false;
  std::jthread other([&] {
    any.get(key_of(2), [&] {
      at_it = true;
      while (!done) std::this_thread::yield();
      return volume_of(2);
    });
  });
  while (!at_it) std::this_thread::yield();
  EXPECT_EQ(any.fill(key_of(2), []() -> Named { throw std::logic_error("is made"); }),
            Filled::somebody_is_at_it);
  done = true;
  other.join();
  any.drop(key_of(2));
  EXPECT_FALSE(any.holds(key_of(2)));
  EXPECT_TRUE(any.holds(key_of(1)));
  PreparedCache full = cache(1);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(full.fill(key_of(3), [] { return volume_of(3); }), Filled::no_room);
  EXPECT_NE(::testing::internal::GetCapturedStderr(), "");
}

TEST(CacheKey, ChangesWithContentsAndChainAndWithNothingElse) {
  const std::vector<std::pair<std::string, std::string>> files{{"image", "aa"}, {"label", "bb"}};
  const Json chain = Json::parse(R"([{"Spacing": {"pixdim": [1, 1, 1], "mode": "nearest"}}])");
  const Json reordered = Json::parse(R"([{"Spacing": {"mode": "nearest", "pixdim": [1, 1, 1]}}])");
  const Json other = Json::parse(R"([{"Spacing": {"pixdim": [1, 1, 2], "mode": "nearest"}}])");
  const std::string key = cache_key(files, chain);
  EXPECT_EQ(key.size(), cache_key_letters);
  EXPECT_EQ(cache_key(files, reordered), key);
  EXPECT_NE(cache_key(files, other), key);
  EXPECT_NE(cache_key({{"image", "aa"}}, chain), key);
  EXPECT_NE(cache_key({{"image", "bb"}, {"label", "aa"}}, chain), key);
  EXPECT_NE(cache_key(files, nullptr), key);
}

}  // namespace
}  // namespace larmor
