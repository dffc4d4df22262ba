#include "larmor/transforms/resample_like.h"

#include <ATen/core/Tensor.h>

#include "larmor/base/error.h"

namespace larmor {

Volume resample_like(const Volume& volume, const Affine& affine, const GridSize& size,
                     Interpolation interpolation) {
  const auto to_source = inverse(volume.affine);
  if (!to_source)
    fail(Exit::data, "the volume's affine cannot be inverted", "larmor inspect shows the affine of a file");
  const GridPart whole{.whole = size, .corner = {}, .size = size};
  return {.voxels = sample(volume.voxels.to(at::kFloat), compose(*to_source, affine), whole,
                           {.interpolation = interpolation, .outside = Outside::border}),
          .affine = affine};
}

}  // namespace larmor
