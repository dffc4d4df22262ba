#include "larmor/data/dataset_around.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/data/preparable_dataset.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;

/// Whose every answer has the number of the example in it.
class Telling final : public PreparableDataset {
 public:
  int64_t size() const override { return 6; }
  int64_t cases() const override { return 3; }
  int64_t examples_per_case() const override { return 2; }
  std::string case_name(int64_t number) const override { return text("case ", number); }
  uint64_t prepare(int64_t) const override { return 0; }
  bool is_prepared(int64_t) const override { return true; }
  CachePlace cache_place() const override { return {}; }
  Sample get(const ExampleKey& key) const override { return {{"image", at::full({1}, key.example)}}; }
  std::string name(int64_t example) const override { return text("name ", example); }
  std::string patient(int64_t example) const override { return text("patient ", example); }
  std::optional<Affine> grid(int64_t example) const override {
    Affine grid{};
    grid[0][0] = static_cast<double>(example);
    return grid;
  }
  Caption caption(int64_t example) const override { return {.title = text("title ", example)}; }
  std::string content_hash(int64_t example) const override { return text("hash ", example); }
  std::vector<int64_t> shown(int64_t stride) const override { return {stride, 5}; }
};

/// The last examples come first.
class Backwards final : public ExamplesOf {
 public:
  using ExamplesOf::ExamplesOf;
  int64_t size() const override { return inner().size(); }

 private:
  int64_t source_of(int64_t example) const override { return size() - 1 - example; }
};

void expect_words_of(const Dataset& dataset, int64_t example, int64_t source) {
  EXPECT_EQ(dataset.name(example), text("name ", source));
  EXPECT_EQ(dataset.patient(example), text("patient ", source));
  EXPECT_EQ(dataset.caption(example).title, text("title ", source));
  EXPECT_EQ(dataset.content_hash(example), text("hash ", source));
  ASSERT_TRUE(dataset.grid(example).has_value());
  EXPECT_EQ((*dataset.grid(example))[0][0], static_cast<double>(source));
  const Sample sample = dataset.get({.seed = 0, .epoch = 0, .example = example});
  EXPECT_EQ(sample.at("image").item<int64_t>(), source);
}

TEST(ExamplesOf, SaysOfAnExampleWhatTheOtherDatasetSaysOfItsSource) {
  const Backwards backwards(std::make_unique<Telling>());
  for (int64_t example = 0; example < 6; ++example) expect_words_of(backwards, example, 5 - example);
}

TEST(ExamplesOf, IsShownAndPreparedAsADatasetOfItsOwn) {
  const Backwards backwards(std::make_unique<Telling>());
  EXPECT_THAT(backwards.shown(1), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(backwards.preparable(), nullptr);
}

TEST(DatasetAround, SaysWhatTheOtherDatasetSays) {
  const Telling telling;
  const DatasetAround around(telling);
  EXPECT_EQ(around.size(), 6);
  EXPECT_EQ(around.examples_per_case(), 2);
  EXPECT_THAT(around.shown(3), ElementsAre(3, 5));
  EXPECT_EQ(around.preparable(), &telling);
  for (int64_t example = 0; example < 6; ++example) expect_words_of(around, example, example);
}

}  // namespace
}  // namespace larmor
