#include "larmor/data/dataset.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

const std::vector<ExampleKey> two_keys = {{1, 0, 4}, {1, 0, 2}};

TEST(Collate, StacksTensorsOfTheSameName) {
  const Batch batch = collate({{{"image", at::full({1, 2, 2, 2}, 3)}, {"label", at::full({1}, 5)}},
                               {{"image", at::full({1, 2, 2, 2}, 4)}, {"label", at::full({1}, 6)}}},
                              two_keys);
  EXPECT_EQ(batch.size(), 2);
  EXPECT_EQ(batch.keys, two_keys);
  EXPECT_EQ(batch.at("image").sizes(), (std::vector<int64_t>{2, 1, 2, 2, 2}));
  EXPECT_EQ(batch.at("image")[1].min().item<float>(), 4);
  EXPECT_EQ(batch.at("label")[0].item<float>(), 5);
}

TEST(Collate, MakesTheLastAxisContiguousWhateverTheFileHad) {
  const at::Tensor turned = at::arange(24).view({4, 3, 2}).permute({2, 1, 0}).unsqueeze(0);
  const Batch batch = collate({{{"image", turned}}}, {{1, 0, 0}});
  EXPECT_TRUE(batch.at("image").is_contiguous());
  EXPECT_TRUE(batch.at("image")[0].equal(turned));
}

TEST(Collate, CopiesEvenASingleSample) {
  const at::Tensor image = at::zeros({1, 2});
  const Batch batch = collate({{{"image", image}}}, {{1, 0, 0}});
  batch.at("image").fill_(9);
  EXPECT_EQ(image.sum().item<float>(), 0);
}

TEST(Collate, RefusesSamplesThatDoNotFitTogether) {
  const Sample small = {{"image", at::zeros({1, 2})}}, large = {{"image", at::zeros({1, 3})}};
  const auto shapes = error_of([&] { collate({small, large}, two_keys); });
  ASSERT_TRUE(shapes);
  EXPECT_EQ(shapes->exit(), Exit::data);
  EXPECT_THAT(shapes->message(), HasSubstr("[1, 2] and [1, 3]"));

  const auto names = error_of([&] { collate({small, {{"label", at::zeros({1, 2})}}}, two_keys); });
  ASSERT_TRUE(names);
  EXPECT_THAT(names->message(), HasSubstr("image and label"));

  const auto more =
      error_of([&] { collate({small, {{"image", at::zeros({1, 2})}, {"x", at::zeros(1)}}}, two_keys); });
  EXPECT_TRUE(more);

  const auto kinds =
      error_of([&] { collate({small, {{"image", at::zeros({1, 2}, at::kDouble)}}}, two_keys); });
  ASSERT_TRUE(kinds);
  EXPECT_THAT(kinds->message(), HasSubstr("Float and Double"));
}

TEST(Batch, NamesWhatThereIsWhenATensorIsMissing) {
  const Batch batch = collate({{{"image", at::zeros({1})}}}, {{1, 0, 0}});
  const auto error = error_of([&] { batch.at("label"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("\"label\", only image"));
}

}  // namespace
}  // namespace larmor
