#include "larmor/judge/split_reader.h"

#include <chrono>
#include <thread>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor::testing {
namespace {

/// Examples whose image is their number; one cannot be read.
class ReadableNumbers final : public Dataset {
 public:
  explicit ReadableNumbers(int64_t size, int64_t bad = -1) : size_(size), bad_(bad) {}
  int64_t size() const override { return size_; }
  Sample get(const ExampleKey& key) const override {
    if (key.example == bad_) fail(Exit::data, "a torn file");
    return {{"image", at::full({1}, key.example)}};
  }
  std::string name(int64_t example) const override { return std::to_string(example); }

 private:
  int64_t size_, bad_;
};

const Batch* wait_for_upcoming(const SplitReader& reader) {
  constexpr int most_milliseconds = 10000;
  for (int waited = 0; waited < most_milliseconds; ++waited) {
    if (const Batch* const batch = reader.upcoming()) return batch;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return nullptr;
}

TEST(SplitReader, ShowsTheCaseThatItGivesNext) {
  const ReadableNumbers cases(5);
  SplitReader reader(cases, {.rank = 1, .ranks = 2, .workers = 2});
  for (const int64_t example : {1, 3}) {
    const Batch* const upcoming = wait_for_upcoming(reader);
    ASSERT_NE(upcoming, nullptr);
    const at::Tensor image = upcoming->at("image");
    const auto read = reader.next();
    EXPECT_EQ(read->key.example, example);
    EXPECT_TRUE(read->batch.at("image").is_same(image));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(reader.upcoming(), nullptr) << "there is none";
  EXPECT_FALSE(reader.next());
}

TEST(SplitReader, ShowsNoCaseThatCannotBeReadAndNoneThatNobodyReadsAhead) {
  const ReadableNumbers cases(3, /*bad=*/0);
  SplitReader ahead(cases, {.workers = 1}), alone(cases, {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(ahead.upcoming(), nullptr);
  EXPECT_TRUE(ahead.next()->bad);
  EXPECT_NE(wait_for_upcoming(ahead), nullptr);
  EXPECT_EQ(alone.upcoming(), nullptr);
}

}  // namespace
}  // namespace larmor::testing
