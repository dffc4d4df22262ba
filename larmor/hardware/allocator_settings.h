// What settings of libtorch's allocator of GPU memory say that a plan has to know.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace larmor {

/// Whether segments of the allocator grow by the variables of an environment: PYTORCH_CUDA_ALLOC_CONF and
/// PYTORCH_ALLOC_CONF. Nothing where neither is set: then Larmor lets them grow (device/cuda/cuda.cpp).
/// Whoever sets one without expandable_segments:True gets libtorch's default, segments that keep their size;
/// and of two that differ it is not known which one counts.
std::optional<bool> segments_grow_by(const std::map<std::string, std::string>& environment);

}  // namespace larmor
