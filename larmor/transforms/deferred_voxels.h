// Voxels that lie elsewhere, such as in a cache, and can be read in parts.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/formats/affine.h"

namespace larmor {

struct DeferredVoxels {
  std::array<int64_t, 4> shape{};  // [C, X, Y, Z]
  Affine affine = identity_affine();
  /// All channels of the crop at `corner`, in memory of their own.
  std::function<at::Tensor(const std::vector<int64_t>& corner, const std::vector<int64_t>& size)> read;
};

/// The volumes of one example by name.
using DeferredVolumes = std::map<std::string, DeferredVoxels, std::less<>>;

}  // namespace larmor
