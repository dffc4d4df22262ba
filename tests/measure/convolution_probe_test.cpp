#include "larmor/measure/convolution_probe.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/measure/operation_count.h"

namespace larmor {
namespace {

TEST(ConvolutionProbe, ComputesAsManyOperationsAsItSays) {
  const ConvolutionProbe probe(/*channels=*/4, /*edge=*/6, at::kFloat);
  double seconds = 0;
  const auto count = count_operations([&] { seconds = probe.seconds(); });
  EXPECT_EQ(count.convolution, probe.operations());
  EXPECT_GT(seconds, 0);
}

}  // namespace
}  // namespace larmor
