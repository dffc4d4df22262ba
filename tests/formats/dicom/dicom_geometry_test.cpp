#include "larmor/formats/dicom/dicom_geometry.h"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DicomSlice slice_at(const std::string& name, double x, double y, double z) {
  DicomSlice one{.name = name, .rows = 4, .columns = 5, .plane = {}};
  one.plane.position = {{x, y, z}};
  one.plane.orientation = {{1, 0, 0, 0, 1, 0}};
  one.plane.spacing = {{0.75, 0.5}};
  return one;
}

std::string refusal(const std::vector<DicomSlice>& slices) {
  const auto error = error_of([&] { stack_slices(slices, {}); });
  return error ? error->message() : "";
}

TEST(StackSlices, SortsAlongTheNormalWhateverTheNames) {
  const SliceStack stack =
      stack_slices({slice_at("c", 10, 20, 34), slice_at("a", 10, 20, 30), slice_at("b", 10, 20, 32)}, {});
  EXPECT_THAT(stack.order, ElementsAre(1, 2, 0));
  EXPECT_THAT(position(stack.affine, {0, 0, 0}), ElementsAre(-10, -20, 30));
  EXPECT_THAT(position(stack.affine, {1, 0, 0}), ElementsAre(-10.5, -20, 30));
  EXPECT_THAT(position(stack.affine, {0, 1, 0}), ElementsAre(-10, -20.75, 30));
  EXPECT_THAT(position(stack.affine, {0, 0, 2}), ElementsAre(-10, -20, 34));
  EXPECT_THAT(stack.problems, IsEmpty());
}

TEST(StackSlices, FollowsObliquePlanes) {
  const double c = std::cos(0.3), s = std::sin(0.3);
  std::vector<DicomSlice> slices;
  for (int i = 0; i < 4; ++i) {
    DicomSlice one = slice_at(text("s", i), 1, 2 - 3 * s * i, 3 + 3 * c * i);
    one.plane.orientation = {{1, 0, 0, 0, c, s}};
    slices.push_back(one);
  }
  const SliceStack stack = stack_slices(slices, {});
  EXPECT_NEAR(spacing_of(stack.affine)[2], 3, 1e-12);
  EXPECT_NEAR(position(stack.affine, {0, 0, 3})[1], -(2 - 9 * s), 1e-12);
}

TEST(StackSlices, NamesTheGap) {
  EXPECT_THAT(refusal({slice_at("a", 0, 0, 0), slice_at("b", 0, 0, 2), slice_at("c", 0, 0, 6),
                       slice_at("d", 0, 0, 8)}),
              AllOf(HasSubstr("gap of 4.00 mm between b and c"), HasSubstr("2.00 mm apart")));
}

TEST(StackSlices, AllowsPositionsThatAreRounded) {
  EXPECT_EQ(refusal({slice_at("a", 0, 0, 0), slice_at("b", 0, 0, 0.63), slice_at("c", 0, 0, 1.25),
                     slice_at("d", 0, 0, 1.88)}),
            "");
}

TEST(StackSlices, NamesTwoSlicesAtOnePlace) {
  EXPECT_THAT(refusal({slice_at("a", 0, 0, 0), slice_at("b", 0, 0, 2), slice_at("c", 0, 0, 2)}),
              HasSubstr("b and c lie at the same place"));
}

TEST(StackSlices, NamesTheTilt) {
  EXPECT_THAT(refusal({slice_at("a", 0, 0, 0), slice_at("b", 0, 0.5, 2), slice_at("c", 0, 1, 4)}),
              AllOf(HasSubstr("tilted: from a to b"), HasSubstr("0.50 mm, 14.0 degrees")));
}

TEST(StackSlices, NamesSlicesThatDiffer) {
  DicomSlice other = slice_at("b", 0, 0, 2);
  other.columns = 6;
  EXPECT_THAT(refusal({slice_at("a", 0, 0, 0), other}), HasSubstr("a is 5 x 4, b is 6 x 4"));
  other = slice_at("b", 0, 0, 2);
  other.plane.orientation = {{0, 1, 0, 0, 0, 1}};
  EXPECT_THAT(refusal({slice_at("a", 0, 0, 0), other}), HasSubstr("different directions: a and b"));
  other = slice_at("b", 0, 0, 2);
  other.plane.spacing = {{0.75, 0.6}};
  EXPECT_THAT(refusal({slice_at("a", 0, 0, 0), other}), HasSubstr("size of their pixels"));
  other = slice_at("b", 0, 0, 2);
  other.plane.position.reset();
  EXPECT_THAT(refusal({slice_at("a", 0, 0, 0), other}), HasSubstr("b does not say where it lies"));
}

TEST(StackSlices, RefusesDirectionsThatAreNone) {
  DicomSlice bent = slice_at("a", 0, 0, 0);
  bent.plane.orientation = {{1, 0, 0, 0.5, 0.5, 0}};
  EXPECT_THAT(refusal({bent}), HasSubstr("a has directions (0020,0037)"));
}

TEST(StackSlices, PlacesASingleSlice) {
  EXPECT_EQ(spacing_of(stack_slices({slice_at("a", 1, 2, 3)}, 7.5).affine)[2], 7.5);
  DicomSlice thick = slice_at("a", 1, 2, 3);
  thick.plane.thickness = 4;
  EXPECT_EQ(spacing_of(stack_slices({thick}, {}).affine)[2], 4);
  DicomSlice nowhere = slice_at("a", 1, 2, 3);
  nowhere.plane.position.reset();
  nowhere.plane.spacing = {{0, 0}};
  const SliceStack stack = stack_slices({nowhere}, {});
  EXPECT_EQ(stack.affine, identity_affine());
  EXPECT_THAT(stack.problems, ElementsAre(HasSubstr("how large its pixels are")));
}

}  // namespace
}  // namespace larmor
