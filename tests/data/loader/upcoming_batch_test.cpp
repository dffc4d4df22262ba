// The batch that a loader shows before it hands it out.
#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/loader/loader.h"

namespace larmor {
namespace {

/// Samples that hold their number; told examples fail.
class NumberedCases : public Dataset {
 public:
  explicit NumberedCases(int64_t size, std::set<int64_t> broken = {})
      : size_(size), broken_(std::move(broken)) {}
  int64_t size() const override { return size_; }
  std::string name(int64_t example) const override { return text("case-", example, ".nii"); }
  Sample get(const ExampleKey& key) const override {
    ++asked;
    if (broken_.contains(key.example)) fail(Exit::data, text("/data/", name(key.example), ": is cut short"));
    return {{"image", at::full({1, 2}, key.example)}};
  }
  mutable std::atomic<int> asked{0};

 private:
  int64_t size_;
  std::set<int64_t> broken_;
};

Loader loader_of(const Dataset& dataset, int workers, int64_t bad_files = 0) {
  return Loader(dataset, ExampleOrder(42, dataset.size()), {.global_batch = 2, .micro_batch = 2}, 0,
                {.workers = workers, .prefetch = 1, .bad_files = bad_files});
}

const Batch* wait_for_upcoming(const Loader& loader) {
  constexpr int most_milliseconds = 10000;
  for (int waited = 0; waited < most_milliseconds; ++waited) {
    if (const Batch* const batch = loader.upcoming()) return batch;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return nullptr;
}

TEST(UpcomingBatch, IsTheVeryOneThatIsHandedOutNext) {
  const NumberedCases cases(7);
  Loader shown = loader_of(cases, 2), plain = loader_of(cases, 0);
  for (int number = 0; number < 20; ++number) {
    const int64_t consumed = shown.consumed();
    const Batch* const upcoming = wait_for_upcoming(shown);
    ASSERT_NE(upcoming, nullptr);
    EXPECT_EQ(shown.upcoming(), upcoming) << "as often as one asks";
    EXPECT_EQ(shown.consumed(), consumed);
    const at::Tensor image = upcoming->at("image");
    const Batch batch = shown.next();
    EXPECT_TRUE(batch.at("image").is_same(image));
    EXPECT_EQ(batch.keys, plain.next().keys);
  }
}

TEST(UpcomingBatch, IsNotShownWhereItFails) {
  const NumberedCases broken(4, {0, 1, 2, 3});
  Loader loader = loader_of(broken, 1);
  while (broken.asked == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(loader.upcoming(), nullptr);
  EXPECT_THROW(loader.next(), Error);
  EXPECT_EQ(loader.upcoming(), nullptr);
}

TEST(UpcomingBatch, IsNotShownWhereNobodyPreparesItAhead) {
  const NumberedCases cases(4);
  EXPECT_EQ(loader_of(cases, 0).upcoming(), nullptr);
}

// A file that fails there is met when its batch is handed out: training goes on, or stops, where it did.
TEST(UpcomingBatch, CountsNoBadFilesYet) {
  const NumberedCases cases(4, {0, 1, 2});
  Loader loader = loader_of(cases, 1, /*bad_files=*/3);
  ASSERT_NE(wait_for_upcoming(loader), nullptr);
  EXPECT_TRUE(loader.quarantine().empty());
  loader.next();
  EXPECT_FALSE(loader.quarantine().empty());
}

}  // namespace
}  // namespace larmor
