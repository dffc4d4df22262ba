#include "larmor/base/declared_figure.h"

#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(DeclaredFigure, IsFoundByItsNameAndPointsToWhereItIsBetter) {
  const DeclaredFigures figures{{.name = "psnr", .better = Better::higher, .unit = "dB"},
                                {.name = "loss", .better = Better::lower},
                                {.name = "width"}};
  EXPECT_EQ(find_figure(figures, "psnr")->unit, "dB");
  EXPECT_EQ(find_figure(figures, "ssim"), nullptr);
  EXPECT_EQ(arrow_of(find_figure(figures, "psnr")->better), "↑");
  EXPECT_EQ(arrow_of(find_figure(figures, "loss")->better), "↓");
  EXPECT_EQ(arrow_of(find_figure(figures, "width")->better), "");
  EXPECT_EQ(to_text(find_figure(figures, "width")->better), "");
}

}  // namespace
}  // namespace larmor
