#include "workloads/xray_to_ct/data/radiograph_file.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/support/shared_data.h"

namespace larmor::xray_to_ct::testing {
namespace {

/// voxels [1, columns, rows, 1], as a picture is read.
at::Tensor picture_of(const at::Tensor& rows) { return rows.t().unsqueeze(0).unsqueeze(-1); }

TEST(RadiographFile, BrightnessIsAShareOfWhatTheBitsOfThePixelsHold) {
  for (const auto& [most, full] :
       {std::pair(1.0, 1.0), std::pair(200.0, 255.0), std::pair(255.0, 255.0), std::pair(256.0, 511.0),
        std::pair(4000.0, 4095.0), std::pair(60000.0, 65535.0)}) {
    const at::Tensor image = at::linspace(0, most, 12, at::kFloat).view({3, 4});
    EXPECT_TRUE(at::allclose(radiograph_of(picture_of(image)), image / full, 1e-6)) << most;
  }
}

TEST(RadiographFile, ColoursBecomeGreyAndVolumesAreNoRadiographs) {
  const at::Tensor image = at::arange(12, at::kFloat).view({3, 4});
  const at::Tensor colours = at::cat({picture_of(image), picture_of(image), picture_of(image)});
  EXPECT_TRUE(at::allclose(radiograph_of(colours), radiograph_of(picture_of(image))));
  EXPECT_THROW(radiograph_of(at::ones({1, 4, 4, 4})), Error);
}

TEST(RadiographFile, AFilmIsCentredInASquareAndScaled) {
  const at::Tensor image = at::ones({20, 40}, at::kFloat);
  const at::Tensor fitted = fitted_radiograph(image, 20, false);
  ASSERT_EQ(fitted.sizes(), at::IntArrayRef({20, 20}));
  EXPECT_EQ(fitted[0][10].item<float>(), -1);
  EXPECT_EQ(fitted[19][10].item<float>(), -1);
  EXPECT_EQ(fitted[10][0].item<float>(), 1);
  EXPECT_EQ(fitted[10][19].item<float>(), 1);
  at::Tensor marked = at::zeros({8, 8}, at::kFloat);
  marked[0][3] = 1;
  EXPECT_EQ(fitted_radiograph(marked, 8, true)[7][3].item<float>(), 1);
  EXPECT_EQ(fitted_radiograph(marked, 8, false)[0][3].item<float>(), 1);
  // What shrinks is averaged: no pixel is lost.
  EXPECT_NEAR(fitted_radiograph(marked, 4, false).mean().item<double>(), -1 + 2.0 / 64, 0.02);
}

TEST(RadiographFile, RealFilmsAreReadUpright) {
  const auto folder = larmor::testing::shared_data() / "cxr" / "wikimedia";
  if (larmor::testing::shared_data().empty()) GTEST_SKIP() << "no real films beside the project";
  const at::Tensor film = read_radiograph(folder / "haggstrom_normal_pa.jpg");
  EXPECT_GE(film.min().item<double>(), 0);
  EXPECT_LE(film.max().item<double>(), 1);
  // The liver below is brighter than the neck above; lungs are dark beside the bright middle.
  const int64_t rows = film.size(0), columns = film.size(1);
  const auto mean = [&](double top, double bottom, double left, double right) {
    return film
        .slice(0, static_cast<int64_t>(top * double(rows)), static_cast<int64_t>(bottom * double(rows)))
        .slice(1, static_cast<int64_t>(left * double(columns)), static_cast<int64_t>(right * double(columns)))
        .mean()
        .item<double>();
  };
  EXPECT_LT(mean(0.3, 0.45, 0.2, 0.3), mean(0.5, 0.65, 0.47, 0.55));
  EXPECT_GT(mean(0.85, 0.95, 0.3, 0.5), mean(0.3, 0.45, 0.2, 0.3));
}

}  // namespace
}  // namespace larmor::xray_to_ct::testing
