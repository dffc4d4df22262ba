#include "larmor/data/loader/loader.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/seed.h"
#include "larmor/base/text.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

// Samples that are a function of their key; told examples fail; takes longer for some than for others.
class Numbers : public Dataset {
 public:
  explicit Numbers(int64_t size, std::set<int64_t> broken = {}) : size_(size), broken_(std::move(broken)) {}
  int64_t size() const override { return size_; }
  std::string name(int64_t example) const override { return text("case-", example, ".nii"); }
  Sample get(const ExampleKey& key) const override {
    ++asked;
    Draws draws(
        make_key(key.seed, static_cast<uint64_t>(key.epoch), static_cast<uint64_t>(key.example), "value"));
    std::this_thread::sleep_for(std::chrono::microseconds(draws.below(400)));
    if (broken_.contains(key.example)) fail(Exit::data, text("/data/", name(key.example), ": is cut short"));
    return {{"image", at::full({1, 2, 2, 2}, draws.uniform())}};
  }
  mutable std::atomic<int> asked{0};

 private:
  int64_t size_;
  std::set<int64_t> broken_;
};

constexpr BatchSlice two_of_four{
    .global_batch = 8, .micro_batch = 2, .accumulation = 2, .rank = 1, .ranks = 2};

std::vector<Batch> first_batches(const Dataset& dataset, int workers, int count,
                                 const BatchSlice& share = two_of_four, int64_t bad_files = 0) {
  Loader loader(dataset, ExampleOrder(42, dataset.size()), share, 16,
                {.workers = workers, .prefetch = 3, .pinned = false, .bad_files = bad_files});
  std::vector<Batch> batches;
  for (int i = 0; i < count; ++i) batches.push_back(loader.next());
  return batches;
}

void expect_equal(const std::vector<Batch>& left, const std::vector<Batch>& right) {
  ASSERT_EQ(left.size(), right.size());
  for (size_t i = 0; i < left.size(); ++i) {
    EXPECT_EQ(left[i].keys, right[i].keys) << "batch " << i;
    EXPECT_TRUE(left[i].at("image").equal(right[i].at("image"))) << "batch " << i;
  }
}

TEST(Loader, GivesTheSameBatchesWithNoOneAndFourWorkers) {
  const Numbers dataset(13);
  const auto inline_batches = first_batches(dataset, 0, 30);
  expect_equal(first_batches(dataset, 1, 30), inline_batches);
  expect_equal(first_batches(dataset, 4, 30), inline_batches);
}

TEST(Loader, FollowsTheOrderAndTheRanksShare) {
  const Numbers dataset(13);
  const auto batches = first_batches(dataset, 2, 6);
  ExampleOrder order(42, 13);
  for (int64_t i = 0; i < 6; ++i) {
    const auto positions = two_of_four.positions(16 + i / 2 * 8, i % 2);
    ASSERT_EQ(batches[static_cast<size_t>(i)].size(), 2);
    for (size_t k = 0; k < 2; ++k) {
      const ExampleKey key = order.at(positions[k]);
      EXPECT_EQ(batches[static_cast<size_t>(i)].positions[k], positions[k]);
      EXPECT_EQ(batches[static_cast<size_t>(i)].keys[k], key);
      EXPECT_TRUE(batches[static_cast<size_t>(i)].at("image")[static_cast<int64_t>(k)].equal(
          dataset.get(key).at("image")));
    }
  }
}

TEST(Loader, CountsTheExamplesOfAllRanks) {
  const Numbers dataset(13);
  Loader loader(dataset, ExampleOrder(42, 13), two_of_four, 16, {.workers = 2});
  EXPECT_EQ(loader.consumed(), 16);
  loader.next();
  EXPECT_EQ(loader.consumed(), 20);
  loader.next();
  EXPECT_EQ(loader.consumed(), 24);
}

TEST(Loader, GoesOnWhereAnotherLeftOff) {
  const Numbers dataset(13);
  const auto whole = first_batches(dataset, 2, 8);
  Loader resumed(dataset, ExampleOrder(42, 13), two_of_four, 16 + 2 * 8, {.workers = 1});
  for (size_t i = 4; i < 8; ++i) EXPECT_EQ(resumed.next().keys, whole[i].keys);
}

TEST(Loader, PutsTheNextOfTheEpochInThePlaceOfABadFile) {
  const BatchSlice alone{.global_batch = 1};
  const Numbers good(7), spoilt(7, {2, 5});
  ExampleOrder order(42, 7);
  const auto batches = first_batches(spoilt, 4, 28, alone, 2);
  expect_equal(first_batches(spoilt, 0, 28, alone, 2), batches);
  for (int64_t i = 0; i < 28; ++i) {
    int64_t places = 0;
    while (order.substitute(16 + i, places).example == 2 || order.substitute(16 + i, places).example == 5)
      ++places;
    EXPECT_EQ(batches[static_cast<size_t>(i)].keys.front(), order.substitute(16 + i, places));
    EXPECT_EQ(batches[static_cast<size_t>(i)].positions.front(), 16 + i)
        << "a substitute stands where it stood";
  }
}

TEST(Loader, SubstitutesAlikeOnEveryRank) {
  const Numbers spoilt(9, {0, 4});
  const auto one = first_batches(spoilt, 3, 20, {.global_batch = 4, .micro_batch = 1, .accumulation = 4}, 2);
  for (int rank = 0; rank < 4; ++rank) {
    const BatchSlice share{.global_batch = 4, .micro_batch = 1, .accumulation = 1, .rank = rank, .ranks = 4};
    const auto mine = first_batches(spoilt, 2, 5, share, 2);
    for (size_t step = 0; step < 5; ++step) {
      EXPECT_EQ(mine[step].keys, one[step * 4 + static_cast<size_t>(rank)].keys);
    }
  }
}

TEST(Loader, ListsTheBadFilesOnceEach) {
  const Numbers spoilt(7, {2, 5});
  Loader loader(spoilt, ExampleOrder(42, 7), {}, 0,
                {.workers = 3, .prefetch = 2, .pinned = false, .bad_files = 2});
  EXPECT_TRUE(loader.quarantine().empty());
  for (int i = 0; i < 21; ++i) loader.next();
  auto listed = loader.quarantine();
  std::ranges::sort(listed, {}, &BadFile::path);
  EXPECT_THAT(listed,
              ElementsAre(BadFile{"case-2.nii", "is cut short"}, BadFile{"case-5.nii", "is cut short"}));
}

TEST(Loader, DoesNotReadAQuarantinedFileAgain) {
  const Numbers spoilt(2, {0});
  Loader loader(spoilt, ExampleOrder(42, 2), {}, 0,
                {.workers = 0, .prefetch = 1, .pinned = false, .bad_files = 1});
  for (int i = 0; i < 10; ++i) loader.next();
  EXPECT_EQ(spoilt.asked, 10 + 1);
}

// How many batches come before the error, and the error.
std::pair<int, Error> batches_before_error(const Dataset& dataset, int workers, int64_t bad_files) {
  Loader loader(dataset, ExampleOrder(42, dataset.size()), {}, 0,
                {.workers = workers, .prefetch = 4, .pinned = false, .bad_files = bad_files});
  for (int count = 0;; ++count) {
    if (const auto error = error_of([&] { loader.next(); })) {
      const auto again = error_of([&] { loader.next(); });
      EXPECT_TRUE(again && again->message() == error->message());
      return {count, *error};
    }
  }
}

TEST(Loader, StopsAtTheSameBatchOverTheBudgetWhateverTheWorkers) {
  const Numbers spoilt(12, {1, 3, 8});
  const auto [count, error] = batches_before_error(spoilt, 0, 2);
  EXPECT_EQ(error.exit(), Exit::data);
  EXPECT_THAT(error.message(), HasSubstr("3 files"));
  for (const char* name : {"case-1.nii", "case-3.nii", "case-8.nii"})
    EXPECT_THAT(error.message(), HasSubstr(name));
  EXPECT_THAT(error.message(), HasSubstr("data.bad_files allows 2"));
  for (const int workers : {1, 4}) {
    const auto [other_count, other] = batches_before_error(spoilt, workers, 2);
    EXPECT_EQ(other_count, count);
    EXPECT_EQ(other.message(), error.message());
  }
}

TEST(Loader, StopsAtTheFirstBadFileWhenNoneIsAllowed) {
  const Numbers spoilt(5, {3});
  ExampleOrder order(42, 5);
  int first = 0;
  while (order.at(first).example != 3) ++first;
  EXPECT_EQ(batches_before_error(spoilt, 2, 0).first, first);
}

TEST(Loader, SaysSoWhenNoFileIsLeft) {
  const Numbers spoilt(3, {0, 1, 2});
  const auto [count, error] = batches_before_error(spoilt, 2, 10);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(error.exit(), Exit::data);
  EXPECT_THAT(error.message(), HasSubstr("none of the 3"));
}

// Two crops of each volume, which fail for reasons of their own.
class TwoCrops final : public Numbers {
 public:
  using Numbers::Numbers;
  int64_t examples_per_case() const override { return 2; }
  std::string name(int64_t example) const override { return Numbers::name(example / 2); }
  Sample get(const ExampleKey& key) const override {
    if (key.example / 2 == 1) fail(Exit::data, text(name(key.example), ": no room for crop ", key.example));
    return Numbers::get(key);
  }
};

TEST(Loader, CountsAFileOnceForABatchHoweverManyReasonsItsCropsHave) {
  const TwoCrops dataset(8);
  for (const int workers : {0, 2}) {
    Loader loader(dataset, ExampleOrder(1, 8, 2), {.global_batch = 4, .micro_batch = 4}, 0,
                  {.workers = workers, .prefetch = 1, .pinned = false, .bad_files = 1});
    for (int i = 0; i < 6; ++i) EXPECT_EQ(loader.next().size(), 4) << "an empty batch was handed out";
    EXPECT_EQ(loader.quarantine().size(), 1U);
  }
}

class Throws final : public Numbers {
 public:
  Throws(int64_t size, int64_t example) : Numbers(size), example_(example) {}
  Sample get(const ExampleKey& key) const override {
    if (key.example == example_) throw std::runtime_error("no such device");
    return Numbers::get(key);
  }

 private:
  int64_t example_;
};

TEST(Loader, ThrowsAnErrorOfAWorkerWhenItsBatchIsDue) {
  ExampleOrder order(42, 20);
  const Throws dataset(20, order.at(9).example);
  for (const int workers : {0, 1, 4}) {
    Loader loader(dataset, order, {}, 0,
                  {.workers = workers, .prefetch = 6, .pinned = false, .bad_files = 5});
    for (int i = 0; i < 9; ++i) EXPECT_NO_THROW(loader.next()) << i;
    EXPECT_THROW(loader.next(), std::runtime_error);
    EXPECT_THROW(loader.next(), std::runtime_error);
    EXPECT_EQ(loader.consumed(), 9);
  }
}

class TwoShapes final : public Numbers {
 public:
  using Numbers::Numbers;
  Sample get(const ExampleKey& key) const override {
    return {{"image", at::zeros({1, 1 + key.example % 2})}};
  }
};

TEST(Loader, NamesTheFilesThatDoNotFitTogether) {
  const TwoShapes dataset(2);
  Loader loader(dataset, ExampleOrder(1, 2), {.global_batch = 2, .micro_batch = 2}, 0, {.workers = 1});
  const auto error = error_of([&] { loader.next(); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("case-0.nii"));
  EXPECT_THAT(error->message(), HasSubstr("case-1.nii"));
}

TEST(Loader, WorksNoFurtherAheadThanItMay) {
  const Numbers dataset(50);
  Loader loader(dataset, ExampleOrder(1, 50), {}, 0, {.workers = 2, .prefetch = 3});
  loader.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(dataset.asked, 4);
}

TEST(Loader, EndsWhileItsWorkersWaitForRoom) {
  const Numbers dataset(50);
  const Loader loader(dataset, ExampleOrder(1, 50), {}, 0, {.workers = 4, .prefetch = 1});
  while (dataset.asked < 4) std::this_thread::yield();
}

// Holds every worker inside get() until it is let go.
class Gate final : public Numbers {
 public:
  using Numbers::Numbers;
  Sample get(const ExampleKey& key) const override {
    std::unique_lock lock(mutex);
    ++inside;
    changed.notify_all();
    changed.wait(lock, [this] { return open; });
    lock.unlock();
    return Numbers::get(key);
  }
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  mutable int inside = 0;
  bool open = false;
};

TEST(Loader, LeavesALongBatchAfterTheExampleItIsAt) {
  Gate dataset(1000);
  std::thread opener;
  {
    const Loader loader(dataset, ExampleOrder(1, 1000), {.global_batch = 1000, .micro_batch = 1000}, 0,
                        {.workers = 1});
    std::unique_lock lock(dataset.mutex);
    dataset.changed.wait(lock, [&] { return dataset.inside == 1; });
    opener = std::thread([&dataset] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const std::lock_guard guard(dataset.mutex);
      dataset.open = true;
      dataset.changed.notify_all();
    });
  }
  opener.join();
  EXPECT_LE(dataset.asked, 2);
}

// Says in which stage an example is, as readers and transforms do.
class Staged final : public Numbers {
 public:
  using Numbers::Numbers;
  Sample get(const ExampleKey& key) const override {
    const LoadScope stage(LoadStage::read);
    return Numbers::get(key);
  }
};

TEST(Loader, ShowsThatItGoesOnAfterEachStageAndEachExampleThatItHas) {
  const Staged dataset(6, {3});
  for (const int workers : {0, 2}) {
    std::atomic<int> shown = 0;
    {
      Loader loader(dataset, ExampleOrder(1, 6), {.global_batch = 3, .micro_batch = 3}, 0,
                    {.workers = workers, .prefetch = 1, .bad_files = 1, .goes_on = [&shown] { ++shown; }});
      for (int i = 0; i < 2; ++i) loader.next();
    }
    // Six good examples with a stage each, a bad one's stage, and two batches put together.
    constexpr int of_two_batches = 6 + 6 + 1 + 2;
    EXPECT_GE(shown, of_two_batches);
    if (workers == 0) {
      EXPECT_EQ(shown, of_two_batches) << "nobody works ahead";
    }
  }
}

TEST(Loader, MeasuresWhatTheCallerWaitsFor) {
  Gate dataset(4);
  Loader loader(dataset, ExampleOrder(1, 4), {}, 0, {.workers = 1});
  EXPECT_EQ(loader.take_wait_seconds(), 0);
  std::thread opener([&dataset] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const std::lock_guard guard(dataset.mutex);
    dataset.open = true;
    dataset.changed.notify_all();
  });
  loader.next();
  opener.join();
  EXPECT_GT(loader.take_wait_seconds(), 0.01);
  EXPECT_EQ(loader.take_wait_seconds(), 0);
}

class ThreadCount final : public Numbers {
 public:
  using Numbers::Numbers;
  Sample get(const ExampleKey&) const override {
    return {{"image", at::full({1}, static_cast<double>(at::get_num_threads()))},
            {"gradients", at::full({1}, at::GradMode::is_enabled() ? 1.0 : 0.0)}};
  }
};

TEST(Loader, KeepsWorkersToOneThreadAndTheCallerToItsOwn) {
  const int before = at::get_num_threads();
  at::set_num_threads(3);
  const ThreadCount dataset(4);
  Loader loader(dataset, ExampleOrder(1, 4), {}, 0, {.workers = 2});
  for (int i = 0; i < 4; ++i) {
    const Batch batch = loader.next();
    EXPECT_EQ(batch.at("image").item<float>(), 1);
    EXPECT_EQ(batch.at("gradients").item<float>(), 0);
  }
  EXPECT_EQ(at::get_num_threads(), 3);
  std::thread([] { EXPECT_EQ(at::get_num_threads(), 3); }).join();
  at::set_num_threads(before);
}

}  // namespace
}  // namespace larmor
