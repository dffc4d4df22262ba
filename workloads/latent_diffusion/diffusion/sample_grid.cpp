#include "workloads/latent_diffusion/diffusion/sample_grid.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include <ATen/ops/zeros.h>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/task/example_size.h"
#include "larmor/transforms/declared_chain.h"
#include "larmor/transforms/transforms.h"

namespace larmor::latent_diffusion {

namespace {

constexpr const char* grid_file = "grid.json";

/// Each voxel axis along that axis of the body which is nearest to it, with its own side, from 0 on.
Affine straight(const Affine& affine) {
  const auto sides = spacing_of(affine);
  Affine result{};
  result[3][3] = 1;
  std::array<bool, 3> is_taken{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::size_t nearest = 3;
    for (std::size_t world = 0; world < 3; ++world) {
      if (is_taken[world]) continue;
      if (nearest == 3 || std::abs(affine[world][axis]) > std::abs(affine[nearest][axis])) nearest = world;
    }
    is_taken[nearest] = true;
    result[nearest][axis] = std::copysign(sides[axis], affine[nearest][axis]);
  }
  return result;
}

bool can_be_read(const Dataset& images, const ExampleKey& key) {
  try {
    images.get(key);
    return true;
  } catch (const Error& error) {
    if (error.exit() != Exit::data) throw;
    return false;
  }
}

}  // namespace

std::map<std::string, std::string> kept_grid(const Dataset& images, uint64_t seed) {
  for (int64_t example = 0; example < images.size(); ++example) {
    if (!can_be_read(images, {.seed = seed, .example = example})) continue;
    const auto grid = images.grid(example);
    if (!grid || !inverse(*grid)) return {};
    return {{grid_file, to_text(Json{{"affine", straight(*grid)}})}};
  }
  return {};
}

SampleGrid sample_grid(const RunConfig& config,
                       const std::map<std::string, std::filesystem::path>& kept_files) {
  SampleGrid grid{.window = configured_size(config, extent_of_phantoms(config.data))};
  const auto kept = kept_files.find(grid_file);
  if (kept != kept_files.end()) {
    grid.affine = read_json(kept->second).at("affine").get<Affine>();
    return grid;
  }
  const TransformChain chain(prediction_chain(config.data.transforms));
  Volumes volumes{{"image", {.voxels = at::zeros({1, grid.window[0], grid.window[1], grid.window[2]})}}};
  grid.affine = chain.deterministic_part(std::move(volumes)).at("image").affine;
  return grid;
}

}  // namespace larmor::latent_diffusion
