#include "larmor/kernels/projector/attenuation.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

TEST(Attenuation, WaterAndAirAreWhereHounsfieldPutThem) {
  const at::Tensor hu = at::tensor({-2000.0, -1000.0, -500.0, 0.0, 1000.0}, at::kDouble);
  const at::Tensor expected = at::tensor({0.0, 0.0, 0.00965, 0.0193, 0.0386}, at::kDouble);
  EXPECT_TRUE(at::allclose(attenuation_of_hu(hu), expected, 1e-12, 1e-15));
  EXPECT_TRUE(at::allclose(hu_of_attenuation(attenuation_of_hu(hu)).slice(0, 1), hu.slice(0, 1)));
}

TEST(Attenuation, TwentyCentimetresOfWaterLetOneFiftiethThrough) {
  const at::Tensor through = transmission(at::full({1}, 200 * water_attenuation, at::kDouble));
  EXPECT_NEAR(through.item<double>(), 0.0211, 0.0001);
}

TEST(Attenuation, GradientsReachWhatIsAboveAir) {
  const at::Tensor hu = at::tensor({-1500.0, 0.0}, at::kDouble).requires_grad_();
  transmission(attenuation_of_hu(hu) * 100).sum().backward();
  EXPECT_EQ(hu.grad()[0].item<double>(), 0);
  EXPECT_NEAR(hu.grad()[1].item<double>(), -0.00193 * std::exp(-1.93), 1e-9);
}

}  // namespace
}  // namespace larmor::testing
