// The kinds of precision, layout, strategy and the like that a plan chooses among, for who needs these alone.
#pragma once

#include <string>

namespace larmor {

enum class Precision { fp32, bf16, fp16, fp64 };
/// How ranks share the work: whole replicas in threads of one process (dp) or in processes (ddp), or a part
/// each of the optimizer's states (ZeRO-1), of the gradients too (ZeRO-2), and of the weights (ZeRO-3).
/// Source: Rajbhandari et al. 2020.
enum class Strategy { single, dp, ddp, zero1, zero2, zero3 };
/// What backward computes again instead of keeping it: nothing, each block, or sections of blocks and in
/// each its blocks.
enum class Recompute { none, blocks, all };
enum class Compression { none, fp16, bf16 };
/// The order in which the numbers of a network's volumes [N, C, D, H, W] lie in memory: the channels of a
/// voxel far apart, or side by side (libtorch's channels_last_3d).
enum class Layout { contiguous, channels_last };
enum class DeviceKind { cpu, cuda };

std::string to_text(Precision precision);
std::string to_text(Strategy strategy);
std::string to_text(Recompute recompute);
std::string to_text(Compression compression);
std::string to_text(Layout layout);
std::string to_text(DeviceKind kind);
/// Whether each rank holds a part of the optimizer's states only.
bool is_sharded(Strategy strategy);

}  // namespace larmor
