#include "larmor/task/volume_stage.h"

#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/task/support/phantoms.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

TEST(VolumeStage, SeesTheTrainingSplitInCropsAndTheOthersFromTheCentre) {
  const auto config = phantoms(R"([{"RandSpatialCrop": {"roi_size": [8, 8, 8], "random_size": false}}])");
  const Index index = make_index(config.data, 1);
  const auto training = volume_dataset(config, index, Split::train);
  const auto validation = volume_dataset(config, index, Split::val);
  ASSERT_EQ(training->size(), 4);
  ASSERT_EQ(validation->size(), 4);
  bool moves = false;
  for (int64_t epoch = 1; epoch < 6; ++epoch) {
    moves |= !training->get({1, epoch, 0}).at("image").equal(training->get({1, 0, 0}).at("image"));
    EXPECT_TRUE(validation->get({1, epoch, 0}).at("image").equal(validation->get({1, 0, 0}).at("image")));
  }
  EXPECT_TRUE(moves);
}

TEST(VolumeStage, RefusesWindowsThatCannotGoOverACase) {
  const auto answer = [](const ValidationConfig& validation) {
    return answer_of([&] { check_windows(validation, 8); });
  };
  EXPECT_EQ(answer({}), "fine");
  EXPECT_EQ(answer({.roi_size = {96, 96, 64}}), "fine");
  EXPECT_THAT(answer({.roi_size = {96, 96}}), HasSubstr("2: validation.roi_size has 2 numbers"));
  EXPECT_THAT(answer({.roi_size = {96, 50, 96}}), HasSubstr("needs a multiple of 8 | say 48 or 56"));
  EXPECT_THAT(answer({.roi_size = {96, 96, 4}}), HasSubstr("| say 8"));
  EXPECT_THAT(answer({.roi_size = {8, 8, 8}, .overlap = 1}), HasSubstr("2: validation.overlap is 1"));
}

}  // namespace
}  // namespace larmor::testing
