#include "workloads/latent_diffusion/diffusion/sample_grid.h"

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/json.h"

namespace larmor::latent_diffusion {
namespace {

/// Images on one grid, the first of which cannot be read.
class OnGrid final : public Dataset {
 public:
  explicit OnGrid(std::optional<Affine> grid) : grid_(grid) {}
  int64_t size() const override { return 2; }
  Sample get(const ExampleKey& key) const override {
    if (key.example == 0) fail(Exit::data, "a torn file");
    return {{"image", at::zeros({1, 2, 2, 2})}};
  }
  std::string name(int64_t) const override { return "image"; }
  std::optional<Affine> grid(int64_t) const override { return grid_; }

 private:
  std::optional<Affine> grid_;
};

/// Voxels of 0.9 x 2 x 1.5 mm along anterior, left and superior, tilted by 20 degrees about the first axis.
Affine tilted() {
  const double c = std::cos(0.35), s = std::sin(0.35);
  return {{{0, -2 * c, 1.5 * s, 17}, {0.9, 0, 0, -30}, {0, 2 * s, 1.5 * c, 4}, {0, 0, 0, 1}}};
}

Affine grid_of_run(const OnGrid& images) {
  const ScratchFolder scratch;
  RunConfig config;
  config.data.transforms = parse_json(R"([{"CenterSpatialCrop": {"roi_size": [16, 16, 16]}}])", "transforms");
  std::map<std::string, std::filesystem::path> files;
  for (const auto& [name, contents] : kept_grid(images, 1)) {
    files[name] = scratch.path() / name;
    std::ofstream(files[name]) << contents;
  }
  return sample_grid(config, files).affine;
}

TEST(SampleGrid, HasTheVoxelsOfTheFirstTrainingImageThatCanBeReadWithoutItsTilt) {
  const Affine grid = grid_of_run(OnGrid(tilted()));
  const Affine wanted{{{0, -2, 0, 0}, {0.9, 0, 0, 0}, {0, 0, 1.5, 0}, {0, 0, 0, 1}}};
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t column = 0; column < 4; ++column)
      EXPECT_NEAR(grid[row][column], wanted[row][column], 1e-12) << row << ", " << column;
}

TEST(SampleGrid, HasVoxelsOfAMillimetreWhereNobodyKnows) {
  EXPECT_EQ(grid_of_run(OnGrid(std::nullopt)), identity_affine());
  Affine flat = identity_affine();
  flat[2][2] = 0;
  EXPECT_EQ(grid_of_run(OnGrid(flat)), identity_affine());
}

}  // namespace
}  // namespace larmor::latent_diffusion
