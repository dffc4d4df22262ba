#include "larmor/train/data_check.h"

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::testing {
namespace {

Index invented(int training, int validation) {
  Index index;
  index.kind = "phantom";
  for (int i = 0; i < training + validation; ++i) {
    index.cases.push_back({.files = {{"image", text("phantom-", i)}},
                           .patient = text("phantom-", i),
                           .split = i < training ? Split::train : Split::val,
                           .label = {}});
  }
  return index;
}

Exit outcome(const Index& index, double validate_every) {
  RunConfig config;
  config.train.validate_every = {validate_every, Length::Unit::epochs};
  try {
    check_data(index, config);
    return Exit::done;
  } catch (const Error& error) {
    EXPECT_NE(error.hint(), "");
    return error.exit();
  }
}

TEST(CheckData, WantsCasesToTrainOn) {
  EXPECT_EQ(outcome(invented(1, 1), 1), Exit::done);
  EXPECT_EQ(outcome(invented(0, 2), 1), Exit::data);
}

TEST(CheckData, WantsCasesToValidateOnWhereAValidationIsWanted) {
  EXPECT_EQ(outcome(invented(2, 0), 1), Exit::data);
  EXPECT_EQ(outcome(invented(2, 0), 0), Exit::done);
}

TEST(CheckData, RefusesFilesThatAreNotThere) {
  auto index = invented(1, 1);
  index.kind = "nifti";
  index.folder = "/nowhere";
  EXPECT_EQ(outcome(index, 1), Exit::data);
}

}  // namespace
}  // namespace larmor::testing
