#include "larmor/nn/networks/cascade_vit/cascade_vit_options.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::nn {

void CascadeVitOptions::describe(Fields& f) {
  f.field("volume_size", volume_size, "voxels an axis of the volumes of this stage", at_least_one);
  f.field("voxel_dim", voxel_dim, "width of a token of the volume", at_least_one);
  f.field("vit_depth", vit_depth, "transformer blocks", at_least_zero);
  f.field("num_heads", num_heads, "heads of attention; divides voxel_dim", at_least_one);
  f.field("dropout", dropout, "share of features that is dropped", Range{0, 0.99});
  f.field("patch_size", patch_size, "voxels an axis that the finest level takes together", at_least_one);
  f.field("channels", channels,
          "channels of each level between voxels and tokens; each halves the resolution", at_least_one);
  f.field("num_res_blocks", num_res_blocks, "residual blocks of each level, on the way down and up",
          at_least_one);
  f.field("xray_channels", xray_channels, "channels of the features of a radiograph", at_least_one);
  f.field("lifted_channels", lifted_channels,
          "channels that each radiograph brings into the volume along its rays", at_least_one);
  f.field("xray_tokens", xray_tokens, "tokens an axis of each radiograph, to which the volume attends",
          at_least_one);
}

int64_t CascadeVitOptions::token_grid() const {
  int64_t grid = finest();
  for (std::size_t level = 1; level < channels.size(); ++level) grid /= 2;
  return grid;
}

void CascadeVitOptions::check() const {
  if (channels.empty() || channels.size() > 8)
    fail(Exit::usage, text("model.channels has ", channels.size(), " levels"),
         "give one width for each level, [64, 128] say");
  int64_t divisor = patch_size;
  for (std::size_t level = 1; level < channels.size(); ++level) divisor *= 2;
  if (volume_size % divisor != 0)
    fail(Exit::usage,
         text("model.volume_size=", volume_size, " is not a multiple of ", divisor,
              ", the patch halved for each further level"),
         text("set model.volume_size to a multiple of ", divisor));
  if (voxel_dim % num_heads != 0)
    fail(Exit::usage, text("model.num_heads=", num_heads, " does not divide model.voxel_dim=", voxel_dim),
         "choose a number of heads that divides the width of a token");
  if (view_angles.empty()) fail(Exit::usage, "model.views names no view", "name pa, lateral or both");
}

}  // namespace larmor::nn
