#include "larmor/run/data_check.h"

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
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

/// Files that are no volumes, but for those that are.
class FilesToCheck : public ::testing::Test {
 protected:
  FilesToCheck() {
    index_.kind = "npz";
    index_.folder = scratch_.path();
  }
  void add(const std::string& name, Split split, bool is_good) {
    constexpr std::string_view head = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1), }";
    std::string bytes("\x93NUMPY\x01\x00\x76\x00", 10);
    bytes += head;
    bytes.append(118 - head.size() - 1, ' ');
    bytes += '\n';
    bytes.append(4, '\0');
    write_text(storage_, scratch_.path() / name, is_good ? bytes : "no volume");
    index_.cases.push_back({.files = {{"image", name}}, .patient = name, .split = split, .label = {}});
  }
  std::vector<BadFile> check(int64_t bad_files = 10) {
    RunConfig config;
    config.data.bad_files = bad_files;
    return check_data(index_, config);
  }

  Index index_;

 private:
  ScratchFolder scratch_;
  DiskStorage storage_;
};

TEST_F(FilesToCheck, MayBeBadAsFarAsTheConfigAllowsIt) {
  for (int i = 0; i < 5; ++i) add(text("t", i, ".npy"), Split::train, i != 3);
  add("v.npy", Split::val, true);
  const auto bad = check();
  ASSERT_EQ(bad.size(), 1U);
  EXPECT_EQ(bad[0].path, "t3.npy");
  EXPECT_NE(bad[0].reason, "");
  EXPECT_THROW(check(0), Error);
}

TEST_F(FilesToCheck, ListsABadMaskUnderItsCase) {
  for (int i = 0; i < 5; ++i) add(text("t", i, ".npy"), Split::train, true);
  add("v.npy", Split::val, true);
  add("mask.npy", Split::val, false);
  index_.cases.pop_back();
  index_.cases[2].files["mask"] = "mask.npy";
  const auto bad = check();
  ASSERT_EQ(bad.size(), 1U);
  EXPECT_EQ(bad[0].path, "t2.npy");
  EXPECT_TRUE(bad[0].reason.starts_with("mask.npy: ")) << bad[0].reason;
}

TEST_F(FilesToCheck, MustLeaveSomethingToTrainOnAndToValidateOn) {
  for (int i = 0; i < 5; ++i) add(text("t", i, ".npy"), Split::train, true);
  add("v.npy", Split::val, false);
  try {
    check();
    FAIL() << "nothing is left to validate on";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    EXPECT_NE(error.message().find("none of the 1 cases of the split val can be used"), std::string::npos)
        << error.message();
  }
}

}  // namespace
}  // namespace larmor::testing
