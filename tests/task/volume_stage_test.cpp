#include "larmor/task/volume_stage.h"

#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

/// "2: what is wrong", or "fine".
template <class Work>
std::string answer_of(const Work& work) {
  try {
    work();
    return "fine";
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.exit())) + ": " + error.message() + " | " + error.hint();
  }
}

RunConfig phantoms(const char* chain) {
  RunConfig config;
  config.data.kind = "phantom";
  config.data.phantom_cases = 4;
  config.data.phantom_size = {12, 12, 12};
  config.data.split.train = config.data.split.val = 0.5;
  config.data.split.test = 0.0;
  config.data.transforms = parse_json(chain, "chain");
  return config;
}

TEST(VolumeStage, SeesTheTrainingSplitInCropsAndTheOthersFromTheCentre) {
  const auto config = phantoms(R"([{"RandSpatialCrop": {"roi_size": [8, 8, 8], "random_size": false}}])");
  const Index index = make_index(config.data, 1);
  const auto training = volume_dataset(config, index, Split::train);
  const auto validation = volume_dataset(config, index, Split::val);
  ASSERT_EQ(training->size(), 2);
  ASSERT_EQ(validation->size(), 2);
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
}  // namespace larmor
