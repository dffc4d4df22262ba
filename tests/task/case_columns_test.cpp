#include "larmor/task/case_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(CaseColumns, AreFoundByName) {
  const CaseColumns columns{{.name = "time"}, {.name = "event"}};
  EXPECT_EQ(column_named(columns, "event"), &columns[1]);
  EXPECT_EQ(column_named(columns, "even"), nullptr);
}

TEST(CaseColumns, AreWhatWasNotedUnderTheNameOfAFigureOrOfItsParts) {
  const DeclaredFigures declared{{.name = "psnr", .unit = "dB", .meaning = "of the volume"},
                                 {.name = "ssim"}};
  const CaseValues noted{{"psnr", {{0, 20.0}, {2, 21.0}}},
                         {"psnr t1", {{0, 19.0}}},
                         {"psnr_of_nothing", {{0, 1.0}}},
                         {"product_0_1", {{0, 2.0}}}};
  const auto columns = noted_figures(declared, noted);
  ASSERT_EQ(columns.size(), 2U);
  EXPECT_EQ(columns[0].name, "psnr");
  EXPECT_THAT(columns[0].numbers, ElementsAre(Pair(0, 20.0), Pair(2, 21.0)));
  EXPECT_EQ(columns[1].name, "psnr_t1");
  EXPECT_EQ(columns[1].unit, "dB");
  EXPECT_EQ(columns[1].meaning, "of the volume, t1");
}

}  // namespace
}  // namespace larmor::testing
