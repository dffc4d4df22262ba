#include "workloads/xray_vqa/data/chexpert.h"

#include <gtest/gtest.h>

namespace larmor::xray_vqa {
namespace {

TEST(CheXpert, BlankIsMaskedAndSureLabelsCount) {
  EXPECT_FALSE(label_of_cell("", Uncertain::ones)->counts);
  EXPECT_TRUE(label_of_cell("1.0", Uncertain::ignore)->counts);
  EXPECT_EQ(label_of_cell("1.0", Uncertain::ignore)->value, 1);
  EXPECT_TRUE(label_of_cell("0.0", Uncertain::ignore)->counts);
  EXPECT_EQ(label_of_cell(" 0 ", Uncertain::ignore)->value, 0);
}

TEST(CheXpert, FourPoliciesForWhatTheReportLeavesOpen) {
  EXPECT_FALSE(label_of_cell("-1.0", Uncertain::ignore)->counts);
  EXPECT_EQ(label_of_cell("-1.0", Uncertain::ones)->value, 1);
  EXPECT_EQ(label_of_cell("-1.0", Uncertain::zeros)->value, 0);
  EXPECT_EQ(label_of_cell("-1.0", Uncertain::soft)->value, 0.5F);
  for (const auto policy : {Uncertain::ones, Uncertain::zeros, Uncertain::soft})
    EXPECT_TRUE(label_of_cell("-1", policy)->counts);
}

TEST(CheXpert, AnythingElseIsNoLabel) {
  for (const char* const cell : {"2", "yes", "1.0x", "nan", "0.5"})
    EXPECT_FALSE(label_of_cell(cell, Uncertain::ignore).has_value()) << cell;
}

}  // namespace
}  // namespace larmor::xray_vqa
