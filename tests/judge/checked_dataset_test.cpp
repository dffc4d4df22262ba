#include "larmor/judge/checked_dataset.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/support/cases.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

/// Two crops each of three volumes, whose edge is their number.
class Edges final : public Dataset {
 public:
  int64_t size() const override { return 6; }
  int64_t examples_per_case() const override { return 2; }
  Sample get(const ExampleKey& key) const override { return {{"image", at::zeros({1, key.example / 2})}}; }
  std::string name(int64_t example) const override { return text("volume-", example / 2); }
  std::string content_hash(int64_t example) const override { return text("hash of ", example); }
  Caption caption(int64_t example) const override { return {.title = text("title of ", example)}; }
  std::vector<int64_t> shown(int64_t stride) const override { return {stride, 5}; }
};

/// Takes no image of edge 1, but in training.
class Choosy final : public Stage {
 public:
  WorkloadFields fields() override { return {}; }
  void check(const RunConfig&) const override {}
  Demand demand(const RunConfig&, const Index&) const override { return {}; }
  std::unique_ptr<Dataset> dataset(const RunConfig&, const Index&, Split) const override {
    return std::make_unique<Edges>();
  }
  void check_example(const Sample& example, Split split) const override {
    if (split != Split::train && example.at("image").size(1) == 1) fail(Exit::data, "is too small");
  }
  std::unique_ptr<Task> task(const RunConfig&, const Index&) const override { return nullptr; }
  PredictionForm prediction(const RunConfig&) const override { return {}; }
};

TEST(CheckedDataset, NamesTheExampleThatTheStageRefusesAndGivesTheOthers) {
  const Choosy stage;
  const auto cases = checked_dataset(stage, {}, {}, Split::val);
  EXPECT_EQ(cases->get({1, 0, 5}).at("image").size(1), 2);
  const auto error = error_of([&] { cases->get({1, 0, 3}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("volume-1: is too small"));
  EXPECT_FALSE(error_of([&] { checked_dataset(stage, {}, {}, Split::train)->get({1, 0, 3}); }));
}

TEST(CheckedDataset, IsTheStagesOwnInEverythingElse) {
  const Choosy stage;
  const auto cases = checked_dataset(stage, {}, {}, Split::val);
  EXPECT_EQ(cases->size(), 6);
  EXPECT_EQ(cases->examples_per_case(), 2);
  EXPECT_EQ(cases->name(4), "volume-2");
  EXPECT_EQ(cases->content_hash(4), "hash of 4");
  EXPECT_EQ(cases->caption(4).title, "title of 4");
  EXPECT_EQ(cases->shown(3), (std::vector<int64_t>{3, 5}));
}

}  // namespace
}  // namespace larmor::testing
