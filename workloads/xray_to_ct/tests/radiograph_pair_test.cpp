#include "workloads/xray_to_ct/data/radiograph_pair.h"

#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "workloads/xray_to_ct/data/chest_phantom.h"
#include "workloads/xray_to_ct/data/ct_volume.h"

#include "tests/support/shared_data.h"

namespace larmor::xray_to_ct::testing {
namespace {

TEST(RadiographPair, RadiographsShowTheRightOnTheLeftAndTheFrontOnTheRight) {
  PairConfig config;
  config.radiograph_size = 64;
  // A single marker in the right, front, upper part of the body.
  const Volume marked = draw_chest({{.middle = {100, 60, 120}, .radii = {20, 20, 20}, .hu = 1000}}, 400, 64);
  const RadiographPair pair = compute_pair(marked, config, 2, 32);
  for (const int64_t view : {0, 1}) {
    const int64_t brightest = pair.radiographs[view].argmax().item<int64_t>();
    EXPECT_LT(brightest / 64, 20);
    EXPECT_TRUE(view == 0 ? brightest % 64 < 22 : brightest % 64 > 36) << brightest % 64;
    EXPECT_EQ(pair.radiographs[view].max().item<double>(), 1);
    EXPECT_NEAR(pair.radiographs[view].min().item<double>(), -1, 1e-6);
  }
}

TEST(RadiographPair, IntensitiesSayWhatARadiographIsInLineIntegrals) {
  PairConfig config;
  config.radiograph_size = 48;
  const Volume chest = draw_chest(chest_parts(2, 1), 400, 64);
  const RadiographPair pair = compute_pair(chest, config, 2, 64);
  const at::Tensor integrals = line_integrals(chest, pair.views, config);
  for (int64_t view = 0; view < 2; ++view) {
    const auto& [scale, offset] = pair.intensities[static_cast<size_t>(view)];
    EXPECT_TRUE(at::allclose(integrals[view] * scale + offset, pair.radiographs[view], 1e-4, 1e-5));
    EXPECT_GT(integrals[view].max().item<double>(), 2) << "a chest lets less than an eighth through";
    EXPECT_LT(integrals[view].max().item<double>(), 12);
  }
}

TEST(RadiographPair, AVolumeOf64VoxelsAnEdgeProjectsLikeTheCtItself) {
  if (larmor::testing::shared_data().empty()) GTEST_SKIP() << "no real CTs beside the project";
  for (const std::string name : {"lung_dx_A0002_chest_dicom", "totalseg_example_torso_3mm.nii.gz"}) {
    SCOPED_TRACE(name);
    const PairConfig config;
    const Volume ct = oriented_ct(read_volume(larmor::testing::shared_data() / "ct" / name));
    check_ct(ct, config);
    const RadiographPair pair = compute_pair(centred_ct(ct, config.extent), config, 2, 64);
    for (const double correlation : alignment_of(pair, config)) EXPECT_GE(correlation, 0.95);
  }
}

}  // namespace
}  // namespace larmor::xray_to_ct::testing
