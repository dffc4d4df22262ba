// The network of the default config, in float64.
#include <gtest/gtest.h>

#include "tests/nn/support/golden_encoders.h"

namespace larmor::nn {
namespace {

TEST(BertGolden, EqualsTheReferenceAtTheSizeBase) {
  const auto golden = testing::Golden::shared("bert_base");
  if (!golden) GTEST_SKIP() << "bert_base is not on this machine";
  testing::expect_golden_bert(*golden, BertOptions(), "bert base");
}

}  // namespace
}  // namespace larmor::nn
