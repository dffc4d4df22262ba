#include "workloads/xray_to_ct/stage/cascade_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor::xray_to_ct {
namespace {

using ::testing::HasSubstr;

template <class Change>
void expect_refused(const Change& change, const std::string& words) {
  CascadeConfig before(1), config(2);
  change(before);
  try {
    config.check_earlier(before);
    ADD_FAILURE() << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_THAT(error.message(), HasSubstr(words));
  }
}

TEST(CascadeConfig, RefusesAnEarlierStageThatDoesNotFit) {
  EXPECT_NO_THROW(CascadeConfig(2).check_earlier(CascadeConfig(1)));
  expect_refused([](auto& before) { before.views = {"pa"}; }, "model.views");
  expect_refused([](auto& before) { before.network.volume_size = 256; }, "256 voxels");
  expect_refused([](auto& before) { before.pairs.radiograph_size = 64; }, "radiographs of 64");
  expect_refused([](auto& before) { before.pairs.hu_range = {-1000, 1000}; }, "data.hu_range");
}

TEST(CascadeConfig, RefusesViewsThatTheNetworkDoesNotKnow) {
  CascadeConfig config(1);
  config.views = {"lateral"};
  EXPECT_THROW(config.check(RunConfig{}), Error);
  config.views = {};
  EXPECT_THROW(config.check(RunConfig{}), Error);
}

TEST(CascadeConfig, DoublesTheVolumeWithEachStage) {
  EXPECT_EQ(CascadeConfig(1).network.volume_size, 64);
  EXPECT_EQ(CascadeConfig(2).network.volume_size, 128);
  EXPECT_EQ(CascadeConfig(3).network.volume_size, 256);
}

}  // namespace
}  // namespace larmor::xray_to_ct
