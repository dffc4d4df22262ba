#include "larmor/task/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/config/load.h"

#include "tests/task/support/made_up_stage.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;

TEST(Workload, NamesItsStagesInTheOrderInWhichTheyAreTrained) {
  EXPECT_EQ(made_up_workload().name(), "made_up");
  EXPECT_THAT(made_up_workload().stages(), ElementsAre("first", "second"));
}

TEST(Workload, MakesANewStageWithTheDefaultsEachTime) {
  const Workload workload = made_up_workload();
  const auto changed = workload.stage("first");
  load_config({.files = {}, .environment = {}, .overrides = {"model.width=3"}}, "made_up", "first",
              changed->fields());
  ASSERT_EQ(changed->prediction({}).transforms, Json::array({3}));
  EXPECT_EQ(workload.stage("first")->prediction({}).transforms, Json::array({8}));
}

TEST(Workload, RefusesAStageThatItDoesNotHaveAndNamesThoseThatItHas) {
  try {
    made_up_workload().stage("third");
    ADD_FAILURE() << "a stage of no name";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_EQ(error.message(), "made_up has no stage third");
    EXPECT_EQ(error.hint(), "its stages are: first, second");
  }
}

}  // namespace
}  // namespace larmor::testing
