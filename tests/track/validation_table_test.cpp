#include "larmor/track/validation_table.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

using ::testing::ElementsAre;

TEST(ValidationTable, MarksTheBestThatTheRunHasEverHad) {
  ValidationTable table({.metric = "val/loss", .lower_is_better = true, .best = 0.5});
  EXPECT_THAT(table.lines({{"val/loss", 0.6}}), ElementsAre("  loss  0.6"));
  EXPECT_THAT(table.lines({{"val/loss", 0.4}}), ElementsAre("  loss  0.4  -0.2  best so far"));
  EXPECT_THAT(table.lines({{"val/loss", 0.4}}), ElementsAre("  loss  0.4  ="));
}

TEST(ValidationTable, MarksTheHighestWhereHigherIsBetter) {
  ValidationTable table({.metric = "val/psnr", .lower_is_better = false});
  EXPECT_THAT(table.lines({{"val/psnr", 20}}), ElementsAre("  psnr  20    best so far"));
  EXPECT_THAT(table.lines({{"val/psnr", 19}}), ElementsAre("  psnr  19  -1"));
}

TEST(ValidationTable, PutsDeclaredFiguresFirstAndNamesInOneColumn) {
  ValidationTable table({.figures = {{.name = "mae", .better = Better::lower, .unit = "HU"}}});
  EXPECT_THAT(table.lines({{"val/a_long_name", 1}, {"val/mae", 12.5}}),
              ElementsAre("  mae ↓        12.5 HU", "  a_long_name  1"));
}

TEST(ValidationTable, HasNoChangeOfWhatIsNoNumber) {
  ValidationTable table({.metric = "val/auc", .lower_is_better = false});
  constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(table.lines({{"val/auc", no_number}}), ElementsAre("  auc  nan"));
  EXPECT_THAT(table.lines({{"val/auc", 0.7}}), ElementsAre("  auc  0.7    best so far"));
}

}  // namespace
}  // namespace larmor
