#include <algorithm>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/nn/blocks/one_or_each.h"
#include "larmor/nn/networks/diffusion_unet/diffusion_unet.h"

namespace larmor::nn {
namespace {

void check_length(const char* name, std::size_t length, std::size_t levels, bool one_is_enough) {
  if (length == levels || (one_is_enough && length == 1)) return;
  fail(Exit::usage, text("model.", name, " has ", length, " entries for ", levels, " levels"),
       text("give one for each entry of model.channels", one_is_enough ? ", or one for all" : ""));
}

void check_at_least_one(const char* name, int64_t value) {
  if (value >= 1) return;
  fail(Exit::usage, text("model.", name, " is ", value), text("set model.", name, " to 1 or more"));
}

void check_heads(const DiffusionUnetOptions& options, std::size_t level) {
  const int64_t channels = options.channels[level], head = options.head_channels(level);
  if (head >= 1 && channels % head == 0) return;
  fail(Exit::usage,
       text("model.num_head_channels has ", head, " for level ", level + 1, ", which has attention and ",
            channels, " channels"),
       "give attention levels, and the last level, a number that divides the level's channels");
}

}  // namespace

void DiffusionUnetOptions::describe(Fields& f) {
  f.field("spatial_dims", spatial_dims, "axes of space: volumes only", Range{3, 3});
  f.field("in_channels", in_channels, "channels of the noisy input, those of a condition included",
          at_least_one);
  f.field("out_channels", out_channels, "channels of what the network predicts", at_least_one);
  f.field("channels", channels, "feature channels of each level; each level halves the resolution",
          at_least_one);
  describe_one_or_each(f, "num_res_blocks", num_res_blocks, channels.size(),
                       "residual blocks of each level; a list of one number holds for all");
  f.field("attention_levels", attention_levels, "which levels have attention after each residual block");
  f.field("num_head_channels", num_head_channels,
          "channels of a head of attention, of each level; 0 where a level has none", at_least_zero);
  f.field("norm_num_groups", norm_num_groups,
          "groups of the group normalisation; divides every level's channels", at_least_one);
  f.field("norm_eps", norm_eps, "added to the variance by the group normalisation", at_least_zero);
  f.field("resblock_updown", resblock_updown, "changes the resolution inside residual blocks");
  f.field("with_conditioning", with_conditioning, "attention attends to tokens of a context, too");
  f.field("cross_attention_dim", cross_attention_dim, "width of a context's tokens; 0 without a context",
          at_least_zero);
  f.field("transformer_num_layers", transformer_num_layers,
          "layers of attention behind each residual block, with a context", at_least_one);
}

void DiffusionUnetOptions::check() const {
  const std::size_t levels = channels.size();
  if (spatial_dims != 3)
    fail(Exit::usage, text("model.spatial_dims is ", spatial_dims, ", and the U-Net works on volumes"),
         "set model.spatial_dims=3");
  if (levels == 0) fail(Exit::usage, "model.channels is empty", "give one number of channels per level");
  check_length("attention_levels", attention_levels.size(), levels, /*one_is_enough=*/false);
  check_length("num_res_blocks", num_res_blocks.size(), levels, /*one_is_enough=*/true);
  check_length("num_head_channels", num_head_channels.size(), levels, /*one_is_enough=*/true);
  check_at_least_one("in_channels", in_channels);
  check_at_least_one("out_channels", out_channels);
  check_at_least_one("norm_num_groups", norm_num_groups);
  check_at_least_one("transformer_num_layers", transformer_num_layers);
  for (const int64_t count : num_res_blocks) check_at_least_one("num_res_blocks", count);
  for (const int64_t count : channels) {
    check_at_least_one("channels", count);
    if (count % norm_num_groups != 0)
      fail(Exit::usage,
           text("model.channels has the entry ", count, ", which model.norm_num_groups=", norm_num_groups,
                " does not divide"),
           "choose channels that are multiples of model.norm_num_groups");
  }
  if (channels.front() < 4)
    fail(Exit::usage, text("model.channels begins with ", channels.front(), ", too few to tell the time by"),
         "begin with 4 or more");
  for (std::size_t level = 0; level < levels; ++level) {
    if (attention_levels[level] || level + 1 == levels) check_heads(*this, level);
  }
  if (with_conditioning != (cross_attention_dim > 0))
    fail(Exit::usage,
         text("model.with_conditioning=", with_conditioning ? "true" : "false",
              " and model.cross_attention_dim=", cross_attention_dim, " contradict each other"),
         "set both, or neither: the width of a context's tokens is above 0 where there is a context");
}

int64_t DiffusionUnetOptions::res_blocks(std::size_t level) const {
  return num_res_blocks.size() == 1 ? num_res_blocks.front() : num_res_blocks.at(level);
}

int64_t DiffusionUnetOptions::head_channels(std::size_t level) const {
  return num_head_channels.size() == 1 ? num_head_channels.front() : num_head_channels.at(level);
}

int64_t DiffusionUnetOptions::size_divisor() const { return int64_t{1} << (channels.size() - 1); }

}  // namespace larmor::nn
