#include "larmor/kernels/convolution/conv_trial.h"

#include <fstream>
#include <string>

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/device/trial_record.h"

#include "tests/kernels/support/memory_cases.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

constexpr ConvSizes usual{2, 16, 32, {6, 7, 9}, {3, 3, 3}};

Conv3dForm form_by(ConvPath path, at::ScalarType type = at::kFloat) {
  return {.stride = {1, 1, 1},
          .padding = {1, 1, 1},
          .type = type,
          .path = path,
          .keeps_layout = false,
          .within = larmor::Layout::channels_last,
          .layout = larmor::Layout::channels_last};
}

std::string what_is_said(const std::function<void()>& act) {
  ::testing::internal::CaptureStderr();
  act();
  return ::testing::internal::GetCapturedStderr();
}

TEST(ConvTrial, LeavesAFormThatIsRight) {
  TrialRecord record({}, "");
  for (const ConvPath path :
       {ConvPath::one_dnn, ConvPath::padded, ConvPath::columns, ConvPath::wide_columns, ConvPath::winograd})
    EXPECT_EQ(tried_form(record, form_by(path), usual).path, path);
}

TEST(ConvTrial, TakesTheNextPathThatIsRightAndSaysSoOnce) {
  TrialRecord record({}, "");
  const PlantedConvFault fault({ConvPath::one_dnn, ConvPath::padded});
  const auto take = [&] {
    const Conv3dForm taken = tried_form(record, form_by(ConvPath::one_dnn), usual);
    EXPECT_EQ(taken.path, ConvPath::columns);
    EXPECT_EQ(taken.within, larmor::Layout::channels_last);
  };
  EXPECT_THAT(what_is_said(take), HasSubstr("by oneDNN is not right on this CPU (the result is wrong)"));
  EXPECT_EQ(what_is_said(take), "");
}

TEST(ConvTrial, RefusesAFormThatNoPathComputes) {
  TrialRecord record({}, "");
  const PlantedConvFault fault(
      {ConvPath::one_dnn, ConvPath::padded, ConvPath::columns, ConvPath::wide_columns});
  const auto type = has_bf16() ? at::kBFloat16 : at::kFloat;
  try {
    tried_form(record, form_by(ConvPath::one_dnn, type), usual);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.what(), HasSubstr(has_bf16() ? "train.precision=fp32" : "larmor doctor"));
  }
}

/// oneDNN itself, in a form that conv3d() does not give it.
TEST(ConvTrial, SeesWhereOneDnnReadsUnwrittenMemory) {
  if (!has_bf16()) GTEST_SKIP() << "oneDNN does not compute in bfloat16 here";
  TrialRecord record({}, "");
  const ConvSizes flat{2, 24, 16, {2, 5, 1}, {3, 3, 3}};
  Conv3dForm form = form_by(ConvPath::one_dnn, at::kBFloat16);
  form.stride = {1, 1, 2};
  Conv3dForm taken = form;
  const std::string said = what_is_said([&] { taken = tried_form(record, form, flat); });
  EXPECT_NE(taken.path, ConvPath::one_dnn);
  EXPECT_THAT(said, HasSubstr("is not right on this CPU"));
}

TEST(ConvTrial, IsKeptForTheNextStart) {
  const ScratchFolder scratch;
  const auto file = scratch.path() / "larmor" / "trials" / "cpu.txt";
  const PlantedConvFault fault({ConvPath::one_dnn});
  {
    TrialRecord first(file, "a CPU");
    tried_form(first, form_by(ConvPath::one_dnn), usual);
    EXPECT_FALSE(std::filesystem::exists(file));  // the same step may have more of them
    tried_form(first, form_by(ConvPath::one_dnn), usual);
  }
  TrialRecord next(file, "a CPU"), of_another(file, "another CPU");
  const auto take_from = [&](TrialRecord& record) {
    return what_is_said(
        [&] { EXPECT_EQ(tried_form(record, form_by(ConvPath::one_dnn), usual).path, ConvPath::padded); });
  };
  EXPECT_EQ(take_from(next), "");
  EXPECT_THAT(take_from(of_another), HasSubstr("is not right on this CPU"));
}

TEST(ConvTrial, GoesOnWhereNothingCanBeKept) {
  TrialRecord record("/dev/null/no folder/cpu.txt", "a CPU");
  for (int i = 0; i < 3; ++i) tried_form(record, form_by(ConvPath::one_dnn), usual);
}

TEST(ConvTrial, DrawsNothingAndKeepsNothing) {
  TrialRecord record({}, "");
  at::manual_seed(1);
  const at::Tensor undisturbed = at::rand({4});
  at::manual_seed(1);
  tried_form(record, form_by(ConvPath::columns), usual);
  EXPECT_TRUE(at::equal(at::rand({4}), undisturbed));
}

}  // namespace
}  // namespace larmor::testing
